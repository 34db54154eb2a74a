"""The machine driven as fast as it goes: no bytes, no effects, a chain that is a plain function."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from streams.gate import events, machine
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Turn
from streams.gate.work import RunOutput, work_of
from tests.streams.gate.play import START, Judge, Play, frame
from topics.records import ModelFrame

Batches = Sequence[Sequence[ModelFrame]]


@dataclass
class Driven:
    """What an answer came to.

    `outs` is what was out after each batch of frames and the pass that followed, `before_pass` what was out when each
    pass came to its end.
    """

    turn: Turn
    outs: list[str] = field(default_factory=list)
    before_pass: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str | None:
        """How the turn ended, None if it is still open."""
        return self.turn.outcome

    @property
    def released(self) -> str:
        """All that was released."""
        return self.outs[-1] if self.outs else ""


def drive(batches: Batches, chain: Judge, policy: Policy, scan: AnswerScan | None = None) -> Driven:
    """Send batches of frames through the machine, a pass of `chain` after each that calls for one."""
    driven = Driven(Play(policy).start().turn)
    for batch in batches:
        _happen(driven, events.Frames(tuple(batch)), policy, scan)
        work = work_of(driven.turn, policy)
        if isinstance(work, RunOutput):
            outcome = chain(str(driven.turn.buffer), work.final)
            driven.before_pass.append(str(driven.turn.answer.released))
            _happen(driven, events.PassDone(work.step, work.attempt, work.upto, work.final, outcome), policy, scan)
        driven.outs.append(str(driven.turn.answer.released))
    return driven


def _happen(driven: Driven, event: events.Event, policy: Policy, scan: AnswerScan | None) -> None:
    for entry in machine.decide(driven.turn, event, START, policy, scan):
        driven.turn = machine.evolve(driven.turn, JournalRecord(driven.turn.n, START, -1, entry))


def framed(pieces: Sequence[str]) -> list[ModelFrame]:
    """Return one frame per piece; the last of them, or an empty one, carries the finish too."""
    *first, last = pieces or [""]
    return [
        *(frame(seq, piece) for seq, piece in enumerate(first)),
        frame(len(first), last, finish_reason="stop"),
    ]


def one_by_one(pieces: Sequence[str]) -> Batches:
    """Return the frames in order, each in a batch of its own."""
    return [[one] for one in framed(pieces)]


def disturbed(pieces: Sequence[str], seed: int) -> Batches:
    """Return the frames in disorder, some of them twice or more, in batches of any size."""
    chance = random.Random(seed)
    frames = framed(pieces)
    frames += chance.choices(frames, k=chance.randint(0, len(frames)))
    chance.shuffle(frames)
    cuts = sorted(chance.sample(range(len(frames) + 1), k=min(len(frames), chance.randint(0, 6))))
    return [frames[a:b] for a, b in pairwise([0, *cuts, len(frames)])]


def two_way_splits(text: str) -> Iterator[list[str]]:
    """Yield every way to cut a text once, at its ends too."""
    for cut in range(len(text) + 1):
        yield [text[:cut], text[cut:]]


def random_splits(text: str, count: int, seed: int) -> Iterator[list[str]]:
    """Yield `count` ways to cut a text in any number of places."""
    chance = random.Random(seed)
    for _ in range(count):
        cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randint(1, 12)))
        yield [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]


def splits(text: str, count: int, seed: int) -> Iterator[list[str]]:
    """Yield every two-way split, the split into characters, and `count` random ones."""
    yield from two_way_splits(text)
    yield list(text)
    yield from random_splits(text, count, seed)
