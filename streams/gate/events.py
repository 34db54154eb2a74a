"""What can happen to a turn: the inputs of `machine.decide`. Time comes beside them, as epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from processors.outcomes import InputOutcome, OutputOutcome, PreOutcome
from topics.records import ErrorName, ModelFrame


@dataclass(frozen=True, slots=True)
class Start:
    """The turn's thread is free."""


@dataclass(frozen=True, slots=True)
class PreDone:
    """The pre-processors ran."""

    outcome: PreOutcome


@dataclass(frozen=True, slots=True)
class InputDone:
    """The input chain ran for `step`."""

    step: int
    outcome: InputOutcome


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of the turn arrived, in order of arrival: of any step and attempt, repeated or early ones among them."""

    frames: tuple[ModelFrame, ...]


@dataclass(frozen=True, slots=True)
class PassDone:
    """The output chain ran over the first `upto` code points of the attempt's buffer; `final` if that was all of it."""

    step: int
    attempt: int
    upto: int
    final: bool
    outcome: OutputOutcome


@dataclass(frozen=True, slots=True)
class Cancel:
    """The caller wants the turn to end."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; it matters only if something is overdue.

    `listening_since` (epoch seconds) is when frames began to be read without a break: before that, silence proves nothing.
    """

    listening_since: float = 0.0


@dataclass(frozen=True, slots=True)
class Refuse:
    """The turn's request, or a frame of its answer, could not be taken: `message` says why, without content."""

    error: ErrorName
    message: str


@dataclass(frozen=True, slots=True)
class Published:
    """The effects of all records up to number `n` are confirmed.

    `offset` is where on the turn's partition of `released` its terminal frame is, None while none is confirmed.
    """

    n: int
    offset: int | None = None


Event: TypeAlias = Start | PreDone | InputDone | Frames | PassDone | Cancel | Tick | Refuse | Published
