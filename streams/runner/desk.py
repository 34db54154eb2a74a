"""The model calls of one partition: which were started, which are over, and what a batch of records asks for.

Pure planning, as in `streams.turns.desk`: a plan's rows are already counted here, so whoever applies the plan must journal
them all or end the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeAlias

import orjson

from streams.journal.replay import Rows
from streams.journal.writer import Row
from streams.sources import Refused, Source
from topics import codec, names
from topics.errors import WireError
from topics.ids import TurnKey
from topics.records import CallRecord, CancelCall, PromptRequest

STARTED, FINISHED = 0, 1


@dataclass(frozen=True, slots=True)
class CallKey:
    """One attempt of a step's model call; its `str` is the journal's subject."""

    turn: TurnKey
    step: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.turn}/{self.step}/{self.attempt}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the key that `str()` wrote.

        Raises:
            ValueError: `text` names no call.
        """
        turn, step, attempt = text.rsplit("/", 2)
        return cls(TurnKey.parse(turn), int(step), int(attempt))

    @classmethod
    def of(cls, record: CallRecord) -> Self:
        """Return the call that `record` is about."""
        return cls(record.turn, record.step, record.attempt)

    def record(self) -> CallRecord:
        """Return a record that says no more than which call this is."""
        tenant, thread_id, turn_id = self.turn
        return CallRecord(tenant=tenant, thread_id=thread_id, turn_id=turn_id, step=self.step, attempt=self.attempt)


@dataclass(frozen=True, slots=True)
class CallDone:
    """All frames of a call are confirmed."""

    call: CallKey


Input: TypeAlias = Source | CallDone


@dataclass(slots=True)
class Plan:
    """What follows from a batch of inputs: `rows` come before everything else."""

    rows: list[Row] = field(default_factory=list)
    starts: list[PromptRequest] = field(default_factory=list)
    cancels: list[CancelCall] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


class CallDesk:
    """The calls of one partition. A call stays known for `keep_s` seconds after its end, and is never made again."""

    def __init__(self, *, keep_s: float) -> None:
        self._keep_s = keep_s
        self._ended_at: dict[CallKey, float | None] = {}

    def restore(self, rows: Mapping[str, Rows]) -> list[CallKey]:
        """Take over what the journal says, and return the calls that were started and never finished."""
        for subject, numbered in rows.items():
            last = numbered[max(numbered)][1]
            ended = orjson.loads(last)["at"] if FINISHED in numbered else None
            self._ended_at[CallKey.parse(subject)] = ended
        return [call for call, ended in self._ended_at.items() if ended is None]

    def take(self, inputs: Iterable[Input], now: float) -> Plan:
        """Plan what follows from `inputs` at `now` (epoch seconds)."""
        plan = Plan()
        for item in inputs:
            if isinstance(item, CallDone):
                plan.rows.append(self.finished(item.call, now))
            elif item.topic is names.CANCELS:
                self._cancel(item, plan)
            else:
                self._prompt(item, now, plan)
        return plan

    def finished(self, call: CallKey, now: float) -> Row:
        """Note that a call is over, and return the row that says so."""
        self._ended_at[call] = now
        return Row(str(call), FINISHED, _value(now))

    def expired(self, now: float) -> list[CallKey]:
        """Forget calls that ended so long ago that nobody asks for them again, and return them."""
        limit = now - self._keep_s
        old = [call for call, ended in self._ended_at.items() if ended is not None and ended < limit]
        for call in old:
            del self._ended_at[call]
        return old

    def _prompt(self, source: Source, now: float, plan: Plan) -> None:
        try:
            request = codec.decode(source.value, names.PROMPT_REQUEST)
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc), codec.identify(source.value)))
            return
        if request.partition != source.partition:
            # Its frames would go where nobody waits for them, or where there is no partition at all.
            reason = f"the prompt names partition {request.partition} and is in {source.partition}: give its own"
            plan.refused.append(Refused(source, "WrongPartitionError", reason, request.turn))
            return
        call = CallKey.of(request)
        if call not in self._ended_at:
            self._ended_at[call] = None
            plan.rows.append(Row(str(call), STARTED, _value(now)))
            plan.starts.append(request)

    def _cancel(self, source: Source, plan: Plan) -> None:
        try:
            plan.cancels.append(codec.decode(source.value, names.CANCEL_CALL))
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc), codec.identify(source.value)))


def _value(at: float) -> bytes:
    return orjson.dumps({"v": 1, "at": round(at, 3)})
