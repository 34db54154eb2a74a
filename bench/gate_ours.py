"""turngate's ways through the gate, and two loops to compare them with."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from bench.gate_texts import PATTERNS
from processors import Answer, Deps, Replace
from processors.calling import call_directly, run_chain
from processors.chain import OutputChain
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from processors.testing import gate_policy
from streams.gate import entries, events, machine
from streams.gate.effects import effects_of
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Turn
from streams.gate.work import RunOutput, work_of
from topics import codec, names
from topics.content import TextPart
from topics.records import ModelFrame, Record, TextFrame, TurnRequest

#: Told of every release as it comes: its text.
Release = Callable[[str], None]

_RESCAN_WINDOW = 64


def redactors() -> list[Redactor]:
    """Return one redactor for each pattern."""
    return [Redactor(f"redact-{label.lower()}", [Rule(label, Pattern(text))]) for label, text in PATTERNS.items()]


def one_redactor() -> list[Redactor]:
    """Return one redactor by all patterns."""
    return [Redactor("redact", [Rule(label, Pattern(text)) for label, text in PATTERNS.items()])]


class OneMember:
    """Stands in for a chain without scanners: the same redactor, asked for every prefix."""

    name = "prefixes"

    def __init__(self, redactor: Redactor) -> None:
        self.incremental = redactor.incremental
        self._redactor = redactor

    def process(self, answer: Answer) -> Replace:
        """Return the answer with everything found replaced."""
        return self._redactor.process(answer)


class ThroughTheGate:
    """The worker's own state machine from frames to effects, without bytes and without a broker.

    `together` frames are one event, as when a worker finds them waiting. Frames are made before they are timed: others are
    given theirs as well.
    """

    def __init__(self, members: Sequence[object], together: int = 1) -> None:
        self._deps = Deps(output_processors=members)
        self._policy = gate_policy(self._deps)
        self._chain = OutputChain(self._deps.output_processors)
        self._together = together
        self._frames: list[ModelFrame] = []

    def prepare(self, frames: Sequence[str]) -> None:
        """Make the frames that come next."""
        last = len(frames) - 1
        self._frames = [
            ModelFrame(thread_id="t", turn_id="t", seq=seq, text=text, finish_reason="stop" if seq == last else None)
            for seq, text in enumerate(frames)
        ]

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Callable[[int], None]) -> None:
        """Send an answer through that was prepared."""
        opener = self._deps.scanners() if self._policy.mode == "scan" else None
        scan = AnswerScan(opener) if opener is not None else None
        turn = _open_turn(self._policy)
        last = len(frames) - 1
        waiting: list[ModelFrame] = []
        for seq, text in enumerate(frames):
            waiting.append(self.read(seq))
            arrived(len(text))
            if len(waiting) < self._together and seq < last:
                continue
            turn = self._happened(turn, events.Frames(tuple(waiting)), scan, release)
            waiting.clear()
            work = work_of(turn, self._policy)
            if isinstance(work, RunOutput):
                subject = Answer(text=str(turn.answer.text), complete=work.final)
                outcome = await run_chain(self._chain, self._chain.open(subject), call_directly, time.perf_counter)
                done = events.PassDone(work.step, work.attempt, work.upto, work.final, outcome)
                turn = self._happened(turn, done, scan, release)
        if turn.outcome != "completed":
            raise RuntimeError(f"the answer ended as {turn.outcome}")

    def read(self, seq: int) -> ModelFrame:
        """Return a frame."""
        return self._frames[seq]

    def write(self, record: Record) -> None:
        """Do with what is to be published whatever takes time."""

    def journal(self, record: JournalRecord) -> None:
        """Do the same with what is to be journaled."""

    def _happened(self, turn: Turn, event: events.Event, scan: AnswerScan | None, release: Release) -> Turn:
        for entry in machine.decide(turn, event, 0.0, self._policy, scan):
            record = JournalRecord(turn.n, 0.0, -1, entry)
            self.journal(record)
            for effect in effects_of(turn, record, self._policy.max_record_bytes):
                self.write(effect.record)
                if isinstance(effect.record, TextFrame):
                    release(effect.record.text)
            turn = machine.evolve(turn, record)
        return turn


class FromBytesToBytes(ThroughTheGate):
    """The same from the bytes of frames to those of the journal and of what is published: a worker without a broker."""

    def __init__(self, members: Sequence[object], together: int = 1) -> None:
        super().__init__(members, together)
        self._raw: list[bytes] = []

    def prepare(self, frames: Sequence[str]) -> None:
        """Write the frames that come next."""
        super().prepare(frames)
        self._raw = [codec.encode(frame) for frame in self._frames]

    def read(self, seq: int) -> ModelFrame:
        """Return a frame, decoded."""
        return codec.decode(self._raw[seq], names.MODEL_FRAME)

    def write(self, record: Record) -> None:
        """Encode it."""
        codec.encode(record)

    def journal(self, record: JournalRecord) -> None:
        """Encode it."""
        record.encode()


class ScannersAlone:
    """The chain's scanners and nothing around them: what other filters of streams are to be compared with.

    `together` frames are read at once, as a worker does with those that wait.
    """

    def __init__(self, members: Sequence[Redactor], together: int = 1) -> None:
        self._deps = Deps(output_processors=members)
        self._together = together

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Callable[[int], None]) -> None:
        """Send an answer through."""
        opened = self._deps.scanners()
        if opened is None:
            raise TypeError("every member of the chain is to be a scanner")
        scanner = opened()
        if self._together == 1:
            for frame in frames:
                arrived(len(frame))
                release(scanner.feed(frame))
        else:
            for place in range(0, len(frames), self._together):
                waiting = frames[place : place + self._together]
                for frame in waiting:
                    arrived(len(frame))
                release(scanner.feed("".join(waiting)))
        release(scanner.finish())


class LoopAlone:
    """The same loop with nothing in it."""

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Callable[[int], None]) -> None:
        """Send an answer through."""
        for frame in frames:
            arrived(len(frame))
            release(frame)


class RescansThePrefix:
    """What many do: run the patterns over all text so far with every frame, and hold back a fixed window."""

    def __init__(self) -> None:
        self._patterns = [(f"[{label}]", re.compile(text)) for label, text in PATTERNS.items()]

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Callable[[int], None]) -> None:
        """Send an answer through."""
        text = ""
        out = ""
        for frame in frames:
            arrived(len(frame))
            text += frame
            safe = self._redacted(text)[: -_RESCAN_WINDOW or None]
            if len(safe) > len(out) and safe.startswith(out):
                release(safe[len(out) :])
                out = safe
        release(self._redacted(text)[len(out) :])

    def _redacted(self, text: str) -> str:
        for label, pattern in self._patterns:
            text = pattern.sub(label, text)
        return text


def _open_turn(policy: Policy) -> Turn:
    request = TurnRequest(thread_id="t", turn_id="t", message=(TextPart(text=""),))
    accepted = machine.accept(request, partition=0, order=0, now=0.0, policy=policy)
    turn = machine.begin(JournalRecord(n=0, at=0.0, confirmed=-1, entry=accepted))
    return machine.evolve(turn, JournalRecord(n=1, at=0.0, confirmed=-1, entry=entries.Started()))
