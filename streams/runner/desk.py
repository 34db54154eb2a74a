"""The calls of one partition: which were started, which are over, and what a batch of records asks for.

Pure planning, as in `streams.turns.desk`: a plan's rows are already counted here, so whoever applies the plan must journal
them all or end the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeAlias

import orjson

from streams.journal.replay import Rows
from streams.journal.writer import Row
from streams.runner.kind import CallKey, CallKind, R
from streams.sources import Refused, Source
from topics import codec, names
from topics.errors import WireError
from topics.records import CancelCall
from topics.trace_context import TraceContext, context_in

STARTED, FINISHED = 0, 1
#: The longest id of a tool call that is taken, in characters: it becomes a part of keys.
MAX_CALL_ID_CHARS = 1000


@dataclass(frozen=True, slots=True)
class CallDone:
    """All of a call's answer is confirmed."""

    call: CallKey


Input: TypeAlias = Source | CallDone


@dataclass(slots=True)
class Plan(Generic[R]):
    """What follows from a batch of inputs: `rows` come before everything else.

    `parents` are the spans that caused the calls in `starts`, one for each, None where calls are not traced.
    """

    rows: list[Row] = field(default_factory=list)
    starts: list[R] = field(default_factory=list)
    parents: list[TraceContext | None] = field(default_factory=list)
    cancels: list[CancelCall] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


class CallDesk(Generic[R]):
    """The calls of one kind in one partition: known until `keep_s` seconds after their end, and never made again.

    A cancelled attempt is known in the same way, by the key of its model call, whose tool calls it stands for too. Where
    calls are `traced`, the journal keeps what caused them, so that a successor can tell of those that were interrupted.
    """

    def __init__(self, kind: CallKind[R], *, keep_s: float, traced: bool = False) -> None:
        self._kind = kind
        self._keep_s = keep_s
        self._traced = traced
        #: What caused the calls that `restore` found unfinished, and when they were started, as far as that is known.
        self.causes: dict[CallKey, tuple[TraceContext, float]] = {}
        self._ended_at: dict[CallKey, float | None] = {}

    def restore(self, rows: Mapping[str, Rows]) -> list[CallKey]:
        """Take over what the journal says, and return the calls that were started and never finished."""
        for subject, numbered in rows.items():
            last = numbered[max(numbered)][1]
            call, said = CallKey.parse(subject), orjson.loads(last)
            self._ended_at[call] = said["at"] if FINISHED in numbered else None
            if self._traced and FINISHED not in numbered and (cause := TraceContext.parse(said.get("trace", ""))):
                self.causes[call] = cause, said["at"]
        return [call for call, ended in self._ended_at.items() if ended is None]

    def take(self, inputs: Iterable[Input], now: float) -> Plan[R]:
        """Plan what follows from `inputs` at `now` (epoch seconds)."""
        plan: Plan[R] = Plan()
        for item in inputs:
            if isinstance(item, CallDone):
                plan.rows.append(self.finished(item.call, now))
            elif item.topic is names.CANCELS:
                self._cancel(item, now, plan)
            else:
                self._request(item, now, plan)
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

    def _request(self, source: Source, now: float, plan: Plan[R]) -> None:
        try:
            request = codec.decode(source.value, self._kind.shape)
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc), codec.identify(source.value)))
            return
        call = CallKey.of(request)
        if len(call.call_id or "") > MAX_CALL_ID_CHARS:
            reason = f"the id of the tool call is longer than {MAX_CALL_ID_CHARS} characters: give it a shorter one"
            plan.refused.append(Refused(source, "RecordTooLargeError", reason, request.turn))
        elif request.partition != source.partition:
            # Its answer would go where nobody waits for it, or where there is no partition at all.
            reason = f"the record names partition {request.partition} and is in {source.partition}: give its own"
            plan.refused.append(Refused(source, "WrongPartitionError", reason, request.turn))
        elif call not in self._ended_at and replace(call, call_id=None) not in self._ended_at:
            self._ended_at[call] = None
            parent = context_in(source.headers) if self._traced else None
            plan.rows.append(Row(str(call), STARTED, _value(now, parent)))
            plan.starts.append(request)
            plan.parents.append(parent)

    def _cancel(self, source: Source, now: float, plan: Plan[R]) -> None:
        """Pass on a cancel, and journal that the attempt is over if it has not been asked for yet: then it never will be.

        Topics have no order among each other, so that a cancel may come first, and this process may end in between.
        """
        try:
            cancel = codec.decode(source.value, names.CANCEL_CALL)
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc), codec.identify(source.value)))
            return
        plan.cancels.append(cancel)
        attempt = CallKey.of(cancel)
        if attempt not in self._ended_at:
            plan.rows.append(self.finished(attempt, now))


def _value(at: float, parent: TraceContext | None = None) -> bytes:
    traced = {} if parent is None else {"trace": str(parent)}
    return orjson.dumps({"v": 1, "at": round(at, 3), **traced})
