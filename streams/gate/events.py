"""What can happen to a turn: the inputs of `machine.decide`. Time comes beside them, as epoch seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from processors.outcomes import InputOutcome, OutputOutcome, PostOutcome, PreOutcome, Refused, ToolOutcome
from topics.records import ErrorName, ModelFrame, ToolResult


@dataclass(frozen=True, slots=True)
class Start:
    """The turn's thread is free."""


@dataclass(frozen=True, slots=True)
class Rechain:
    """The chains that the turn pinned cannot be run here any more; the policy is that of those which take their place."""


@dataclass(frozen=True, slots=True)
class GovernanceDone:
    """The organisation's rules had the message."""

    outcome: PreOutcome


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
class RulesDone:
    """The organisation's rules had the tool calls of `step`: one outcome each, in order; fewer if one broke."""

    step: int
    outcomes: tuple[ToolOutcome, ...]


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """Results of tool calls arrived: of any step and attempt, repeated ones among them."""

    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class PostDone:
    """The post-processors had the reply; `Refused` if the output chain then did not let it pass."""

    outcome: PostOutcome | Refused


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


Event: TypeAlias = (
    Start
    | Rechain
    | GovernanceDone
    | PreDone
    | InputDone
    | Frames
    | PassDone
    | RulesDone
    | ToolsAnswered
    | PostDone
    | Cancel
    | Tick
    | Refuse
    | Published
)
