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
from processors.scanner import ScannerChain
from processors.testing import gate_policy
from streams.gate import entries, events, machine
from streams.gate.effects import effects_of
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Turn
from streams.gate.work import RunOutput, work_of
from topics.content import TextPart
from topics.records import ModelFrame, TextFrame, TurnRequest

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
    """The worker's own state machine from frames to effects, without bytes and without a broker."""

    def __init__(self, members: Sequence[object]) -> None:
        self._deps = Deps(output_processors=members)
        self._policy = gate_policy(self._deps)
        self._chain = OutputChain(self._deps.output_processors)

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Callable[[int], None]) -> None:
        """Send an answer through."""
        opener = self._deps.scanners() if self._policy.mode == "scan" else None
        scan = AnswerScan(opener) if opener is not None else None
        turn = _open_turn(self._policy)
        last = len(frames) - 1
        for seq, text in enumerate(frames):
            frame = ModelFrame(
                thread_id="t", turn_id="t", seq=seq, text=text, finish_reason="stop" if seq == last else None
            )
            arrived(len(text))
            turn = self._happened(turn, events.Frames((frame,)), scan, release)
            work = work_of(turn, self._policy)
            if isinstance(work, RunOutput):
                subject = Answer(text=str(turn.answer.text), complete=work.final)
                outcome = await run_chain(self._chain, self._chain.open(subject), call_directly, time.perf_counter)
                done = events.PassDone(work.step, work.attempt, work.upto, work.final, outcome)
                turn = self._happened(turn, done, scan, release)
        if turn.outcome != "completed":
            raise RuntimeError(f"the answer ended as {turn.outcome}")

    def _happened(self, turn: Turn, event: events.Event, scan: AnswerScan | None, release: Release) -> Turn:
        for entry in machine.decide(turn, event, 0.0, self._policy, scan):
            record = JournalRecord(n=turn.n, at=0.0, confirmed=-1, entry=entry)
            for effect in effects_of(turn, record, self._policy.max_record_bytes):
                if isinstance(effect.record, TextFrame):
                    release(effect.record.text)
            turn = machine.evolve(turn, record)
        return turn


class ScannersAlone:
    """The chain's scanners and nothing around them: what other filters of streams are to be compared with."""

    def __init__(self, members: Sequence[Redactor]) -> None:
        self._members = members

    async def __call__(self, frames: Sequence[str], release: Release, arrived: Callable[[int], None]) -> None:
        """Send an answer through."""
        scanner = ScannerChain([member.open_scanner for member in self._members])
        for frame in frames:
            arrived(len(frame))
            release(scanner.feed(frame))
        release(scanner.finish())


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
