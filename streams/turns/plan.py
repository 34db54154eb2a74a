"""What follows from a batch of inputs: made by a partition's desk, carried out by its loop."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.gate.effects import Publish
from streams.gate.records import JournalRecord
from streams.journal.writer import Row
from streams.sources import Refused
from streams.turns.threads import Trim
from topics.ids import TurnKey
from topics.records import Erased


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The effects of record `n` of a turn."""

    turn: TurnKey
    n: int
    effects: tuple[Publish, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What is kept of a closed turn: its outcome, where on `released` its terminal frame is, and since when."""

    outcome: str
    partition: int
    offset: int
    at: float


@dataclass(slots=True)
class Plan:
    """What follows from a batch of inputs. `journal` comes before everything else, then what threads `remember`.

    What is `decided` to be erased comes even before that; `answers` say so, and `erased` are subjects of the journal all of
    whose rows can go.

    `touched` turns may want other work than before, `closed` ones can be cleared from the journal but for their last
    record, `trims` are rows that threads have outgrown, `repeats` ask for a closed turn's terminal frame once more,
    `dropped` counts frames and tool results that changed nothing.
    """

    journal: list[tuple[TurnKey, JournalRecord]] = field(default_factory=list)
    remember: list[Row] = field(default_factory=list)
    trims: list[Trim] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    touched: dict[TurnKey, None] = field(default_factory=dict)
    closed: list[TurnKey] = field(default_factory=list)
    repeats: list[tuple[TurnKey, Done]] = field(default_factory=list)
    decided: list[Row] = field(default_factory=list)
    answers: list[Erased] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    dropped: int = 0
