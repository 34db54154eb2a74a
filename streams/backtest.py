"""Recorded answers through two chains, side by side: what the one would have made of them, and what the other did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from processors.contracts import Answer
from processors.manifest import Manifest
from processors.outcomes import Broken, OutputOutcome
from streams.chains import ChainRunner
from streams.gate.policy import Policy
from streams.gate.scan import Scanner
from streams.gate_run import GateEnd, GateRun

Frame = str | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One answer as a model gave it: what it is called, and its frames in order of arrival."""

    name: str
    frames: tuple[Frame, ...]

    @property
    def text(self) -> str:
        """What the model wrote."""
        return "".join(one if isinstance(one, str) else str(one.get("text") or "") for one in self.frames)


@dataclass(frozen=True, slots=True)
class Gated:
    """What a chain made of one answer. `broke` says that a processor failed, `time_ms` is how long processors ran."""

    end: GateEnd
    broke: bool
    time_ms: float

    @property
    def violates(self) -> bool:
        """Whether the chain took back what it had let out: its members do not keep their promise on this answer."""
        return self.end.outcome == "failed" and self.end.error == "ProcessorFailedError" and not self.broke


@dataclass(slots=True)
class Tally:
    """What one chain made of all answers."""

    completed: int = 0
    changed: int = 0
    rejected: int = 0
    failed: int = 0
    violations: int = 0
    characters: int = 0
    time_ms: float = 0.0
    by: dict[str, int] = field(default_factory=dict)

    def count(self, answer: Recorded, gated: Gated) -> None:
        """Count one answer."""
        end = gated.end
        self.completed += end.outcome == "completed"
        self.changed += end.outcome == "completed" and end.text != answer.text
        self.rejected += end.outcome == "rejected"
        self.failed += end.outcome == "failed"
        self.violations += gated.violates
        self.characters += len(answer.text)
        self.time_ms += gated.time_ms
        if end.processor is not None:
            self.by[end.processor] = self.by.get(end.processor, 0) + 1

    @property
    def us_per_char(self) -> float:
        """Microseconds that processors ran per character that the model wrote."""
        return 1000 * self.time_ms / self.characters if self.characters else 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """An answer of which the two chains made something else; `at` is the first character that differs, None: none does."""

    answer: Recorded
    active: Gated
    candidate: Gated
    at: int | None


class Side:
    """One of the two chains. `open_scanner` opens its scanners, where all of its members have one."""

    def __init__(self, chains: ChainRunner, manifest: Manifest, open_scanner: Callable[[], Scanner] | None) -> None:
        self._chains = _Watched(chains)
        self._policy = Policy(mode=manifest.release_mode, window=manifest.window_chars)
        self._open_scanner = open_scanner
        self.tally = Tally()

    async def gate(self, answer: Recorded) -> Gated:
        """Return what the chain makes of an answer, and count it."""
        self._chains.begin()
        run = GateRun(self._chains, self._policy, self._open_scanner)  # type: ignore[arg-type] # all that the gate runs
        async for _ in run.feed(answer.frames):
            pass
        if run.end is None:
            raise RuntimeError("the gate let an answer end without an outcome")
        gated = Gated(run.end, self._chains.broke, self._chains.time_ms)
        self.tally.count(answer, gated)
        return gated


class _Watched:
    """A chain runner whose output runs are timed."""

    def __init__(self, chains: ChainRunner) -> None:
        self._chains = chains
        self.manifest = chains.manifest
        self.broke = False
        self.time_ms = 0.0

    def begin(self) -> None:
        """Begin with another answer."""
        self.broke, self.time_ms = False, 0.0

    async def run_output(self, answer: Answer) -> OutputOutcome:
        """Judge an answer, and see how long that takes."""
        outcome = await self._chains.run_output(answer)
        self.time_ms += sum(report.time_ms for report in outcome.reports)
        self.broke = self.broke or isinstance(outcome, Broken)
        return outcome


async def compare(answer: Recorded, active: Side, candidate: Side) -> Difference | None:
    """Send an answer through both chains; return the difference, None where readers would not have seen one."""
    first, second = await active.gate(answer), await candidate.gate(answer)
    if (first.end.outcome, first.end.text) == (second.end.outcome, second.end.text):
        return None
    return Difference(answer, first, second, _first_difference(first.end.text, second.end.text))


def answers_of(frames: Iterable[Mapping[str, Any]]) -> tuple[list[Recorded], int]:
    """Return the answers that model frames of many turns add up to, and how many of them never ended or failed."""
    grouped: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for frame in frames:
        key = (frame.get("tenant", "default"), frame["thread_id"], frame["turn_id"])
        grouped.setdefault((*key, frame.get("step", 0), frame.get("attempt", 0)), []).append(frame)
    whole = {
        key: given
        for key, given in grouped.items()
        if any(one.get("finish_reason") for one in given) and not any(one.get("error") for one in given)
    }
    return [Recorded("/".join(map(str, key)), _without_ids(given)) for key, given in whole.items()], len(grouped) - len(
        whole
    )


def _without_ids(frames: Sequence[Mapping[str, Any]]) -> tuple[Frame, ...]:
    dropped = {"v", "tenant", "thread_id", "turn_id", "step", "attempt"}
    return tuple({name: value for name, value in one.items() if name not in dropped} for one in frames)


def _first_difference(one: str, other: str) -> int | None:
    at = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if at is None and len(one) != len(other):
        return min(len(one), len(other))
    return at
