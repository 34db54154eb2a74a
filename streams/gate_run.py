"""One answer through the gate, without a broker: what `processors.testing.run_gate` and `turngate gate` do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from processors import TurnContext
from streams.chains import ChainRunner
from streams.gate import entries, events, machine
from streams.gate.effects import effects_of
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan, Scanner
from streams.gate.state import Phase, Turn
from streams.gate.work import RunOutput, work_of
from streams.judging import judge, subject
from topics.content import TextPart
from topics.records import CompletedFrame, FailedFrame, ModelFrame, RejectedFrame, TextFrame, TurnRequest

Outcome = Literal["completed", "rejected", "failed"]


class FrameInputError(ValueError):
    """A frame handed to the gate is neither a text nor a mapping with a model frame's fields: says which and why."""


@dataclass(frozen=True, slots=True)
class GateEnd:
    """How the answer ended. `text` is what the reader has, `error` a class name, `reason` a rejection's or failure's."""

    outcome: Outcome
    text: str
    error: str | None = None
    processor: str | None = None
    reason: str | None = None


class GateRun:
    """Gates one answer by `chains`, one pass per frame.

    Iterating `feed` over frames yields the releases as they come; `end` is set when it is through. `policy` describes the
    chains; `context`-dependent processors see a turn of tenant `default`.
    """

    def __init__(self, chains: ChainRunner, policy: Policy, open_scanner: Callable[[], Scanner] | None = None) -> None:
        self._chains = chains
        self._scan = AnswerScan(open_scanner) if open_scanner is not None else None
        # A second attempt needs a model to ask again, and there is none.
        self._policy = replace(policy, max_attempts=1)
        self._turn = _open_turn(self._policy)
        self._released: list[str] = []
        self._reason: str | None = None
        self.end: GateEnd | None = None

    async def feed(self, frames: Iterable[str | Mapping[str, Any]]) -> AsyncIterator[str]:
        """Take in a whole answer's frames in order of arrival; yield each release.

        Raises:
            FrameInputError: a frame cannot be read as one.
        """
        for frame in read_frames(frames):
            for text in self._happened(events.Frames((frame,))):
                yield text
            if (work := work_of(self._turn, self._policy)) is not None and isinstance(work, RunOutput):
                for text in self._happened(await self._pass(work)):
                    yield text
            if self._turn.over:
                return
        # Whatever is still missing now will never come.
        for text in self._happened(events.Tick()):
            yield text

    async def _pass(self, work: RunOutput) -> events.Event:
        outcome = await judge(self._chains, subject(self._turn, work, TurnContext()))
        return events.PassDone(work.step, work.attempt, work.upto, work.final, outcome)

    def _happened(self, event: events.Event) -> list[str]:
        released: list[str] = []
        now = self._policy.turn_timeout_s if isinstance(event, events.Tick) else 0.0
        for entry in machine.decide(self._turn, event, now, self._policy, self._scan):
            record = JournalRecord(n=self._turn.n, at=now, confirmed=-1, entry=entry)
            for effect in effects_of(self._turn, record, self._policy.max_record_bytes):
                if isinstance(effect.record, TextFrame):
                    released.append(effect.record.text)
                elif effect.terminal:
                    self._ended(effect.record, entry, [*self._released, *released])
            self._turn = machine.evolve(self._turn, record)
        self._released += released
        return released

    def _ended(self, frame: object, entry: entries.AnyEntry, released: list[str]) -> None:
        text = "".join(released)
        if isinstance(frame, CompletedFrame):
            self.end = GateEnd("completed", text)
        elif isinstance(frame, RejectedFrame):
            rejection = entry.rejected if isinstance(entry, entries.Llm | entries.OutputProcessed) else None
            self.end = GateEnd("rejected", text, frame.error, frame.processor, rejection.reason if rejection else None)
        elif isinstance(frame, FailedFrame):
            self.end = GateEnd("failed", text, frame.error, frame.processor, frame.message)


def read_frames(given: Iterable[str | Mapping[str, Any]]) -> list[ModelFrame]:
    """Return the frames given, numbered where they are not, and with a last one that finishes where none does.

    Raises:
        FrameInputError: a frame cannot be read as one.
    """
    frames: list[ModelFrame] = []
    following = 0
    for index, one in enumerate(given):
        if not isinstance(one, str | Mapping):
            raise FrameInputError(
                f"frame {index} is no model frame: it must be a text or an object, not {type(one).__name__}"
            )
        fields: dict[str, Any] = {"text": one} if isinstance(one, str) else dict(one)
        fields.setdefault("seq", following)
        try:
            frame = ModelFrame.model_validate({**fields, "thread_id": "thread", "turn_id": "turn"})
        except ValidationError as exc:
            names = ", ".join(".".join(map(str, fault["loc"])) for fault in exc.errors(include_input=False))
            raise FrameInputError(
                f"frame {index} is no model frame: check {names}; a frame is a text or an object with ModelFrame's fields"
            ) from None
        frames.append(frame)
        following = max(following, (frame.seq if frame.seq is not None else -1) + 1)
    if not any(frame.finish_reason is not None or frame.error is not None for frame in frames):
        frames.append(ModelFrame(thread_id="thread", turn_id="turn", seq=following, finish_reason="stop"))
    return frames


def _open_turn(policy: Policy) -> Turn:
    request = TurnRequest(thread_id="thread", turn_id="turn", message=(TextPart(text=""),))
    accepted = machine.accept(request, partition=0, order=0, now=0.0, policy=policy)
    turn = machine.begin(JournalRecord(n=0, at=0.0, confirmed=-1, entry=accepted))
    turn = machine.evolve(turn, JournalRecord(n=1, at=0.0, confirmed=-1, entry=entries.Started()))
    if turn.phase is not Phase.MODEL:
        raise RuntimeError("a turn without processors before it must wait for the model")
    return turn
