"""The state of a turn: what the fold of its journal gives. Immutable; only `machine.evolve` makes a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from streams.gate.copies import changed
from streams.gate.rope import Rope
from topics.content import Message, Part, Prompt, TextPart, ToolCall, Usage
from topics.ids import TurnKey
from topics.records import ModelFrame, ToolCallDelta, TurnRequest


class Phase(Enum):
    """Where a turn is. Each but `ENDED` and `CLOSED` waits for one thing."""

    QUEUED = "queued"
    """Waits for its thread."""
    PRE = "pre"
    """Waits for the pre-processors."""
    INPUT = "input"
    """Waits for the step's input chain."""
    MODEL = "model"
    """Waits for the model's frames."""
    SETTLING = "settling"
    """The answer is complete; waits for the output chain's whole-answer pass."""
    ENDED = "ended"
    """The outcome is journaled; its terminal frame is not confirmed yet."""
    CLOSED = "closed"
    """The terminal frame is confirmed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One attempt's answer as it arrives, and how much of it is out.

    `text` is the buffer. `next_seq` is the sequence number awaited, `early` the frames beyond it by number, `gap_since`
    the time since when one has been missing. `released` is what readers have; `verbatim` says it is a prefix of `text`.
    """

    text: Rope = field(default_factory=Rope)
    half: int | None = None
    next_seq: int = 0
    early: dict[int, ModelFrame] = field(default_factory=dict)
    gap_since: float | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    released: Rope = field(default_factory=Rope)
    verbatim: bool = True

    def with_deltas(self, deltas: tuple[ToolCallDelta, ...]) -> tuple[ToolCall, ...]:
        """Return the tool calls so far with `deltas` added, each to the call of its index."""
        calls = list(self.tool_calls)
        for delta in deltas:
            # A model that skips an index still means its calls in order: the next free place is the one it gets.
            at = min(delta.index, len(calls))
            known = calls[at] if at < len(calls) else ToolCall(id="", name="")
            calls[at : at + 1] = [
                ToolCall(
                    id=delta.id or known.id,
                    name=delta.name or known.name,
                    arguments=known.arguments + (delta.arguments or ""),
                )
            ]
        return tuple(calls)


@dataclass(frozen=True, slots=True)
class Turn:
    """Everything about one turn that its journal says.

    `n` is the number of its next record, `confirmed` that of the last one whose effects are known to be published.
    `terminal_n` is the record that decided the outcome. `settled` is the text of the steps before the current one.
    """

    request: TurnRequest
    partition: int
    order: int
    accepted_at: float
    deadline_at: float
    readable: bool = True
    chain: tuple[str, ...] = ()
    has_input: bool = False
    phase: Phase = Phase.QUEUED
    message: tuple[Part, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    prompt: Prompt | None = None
    step: int = 0
    attempt: int = 0
    answer: Answer = field(default_factory=Answer)
    settled: Rope = field(default_factory=Rope)
    progress_at: float = 0.0
    n: int = 0
    confirmed: int = -1
    terminal_n: int | None = None
    outcome: str | None = None
    closed_at: tuple[int, int] | None = None

    @property
    def key(self) -> TurnKey:
        """The turn's identity."""
        return self.request.turn

    @property
    def buffer(self) -> Rope:
        """The raw text of the current attempt so far."""
        return self.answer.text

    @property
    def released_offset(self) -> int:
        """How many code points of the current step readers have."""
        return len(self.answer.released)

    @property
    def over(self) -> bool:
        """Whether the outcome is decided."""
        return self.phase in (Phase.ENDED, Phase.CLOSED)

    @property
    def calling(self) -> bool:
        """Whether a model call may be running for this turn."""
        return self.phase is Phase.MODEL

    def base_prompt(self) -> Prompt:
        """Return the prompt before the input chain: system text, the caller's history, and the user's message."""
        message = self.message
        content = message[0].text if len(message) == 1 and isinstance(message[0], TextPart) else message
        user = Message(role="user", content=content)
        return Prompt(system=self.request.system, messages=(*(self.request.history or ()), user))

    def with_(self, **changes: Any) -> Self:
        """Return this state with `changes`."""
        return changed(self, **changes)
