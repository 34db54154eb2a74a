"""The state of a turn: what the fold of its journal gives. Immutable; only `machine.evolve` makes a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Self

from streams.gate.entries import Started, ToolReturn
from streams.gate.rope import Rope
from topics.content import Message, Part, Prompt, TextPart, ToolCall, Usage
from topics.ids import TurnKey
from topics.records import ModelFrame, ToolCallDelta, TurnRequest
from topics.text import followed_by
from topics.trusted import like


class Phase(Enum):
    """Where a turn is. Each but `ENDED` and `CLOSED` waits for one thing."""

    QUEUED = "queued"
    """Waits for its thread."""
    GOVERNANCE = "governance"
    """Waits for the organisation's rules."""
    PRE = "pre"
    """Waits for the pre-processors."""
    INPUT = "input"
    """Waits for the step's input chain."""
    MODEL = "model"
    """Waits for the model's frames."""
    WAITING = "waiting"
    """Waits for the time at which the model may be asked again."""
    SETTLING = "settling"
    """The answer is complete; waits for the output chain's whole-answer pass."""
    RULES = "rules"
    """The answer asks for tools; waits for the rules about tool calls."""
    TOOLS = "tools"
    """Waits for the tools' results."""
    POST = "post"
    """The reply is complete; waits for the post-processors."""
    ENDED = "ended"
    """The outcome is journaled; its terminal frame is not confirmed yet."""
    CLOSED = "closed"
    """The terminal frame is confirmed."""


class Copied:
    """Base of the states. They have no slots: nothing is copied as cheaply as an instance's `__dict__`."""

    def with_(self, **changes: Any) -> Self:
        """Return this state with `changes`, by the names of fields.

        Raises:
            TypeError: a change is of a field that the state does not have.
        """
        fields = self.__dict__ | changes
        if len(fields) != len(self.__dict__):
            raise TypeError(f"no fields of {type(self).__name__}: {', '.join(changes.keys() - self.__dict__.keys())}")
        copy = _new(type(self))
        _set_fields(copy, fields)
        return copy


_new = object.__new__
#: Sets an instance's `__dict__`, without the ways around: this is done for every frame, more than once.
_set_fields = Copied.__dict__["__dict__"].__set__


@dataclass(frozen=True)
class Answer(Copied):
    """One attempt's answer as it arrives, and how much of it is out.

    `text` is the buffer. `next_seq` is the sequence number awaited, `early` the frames beyond it by number, `gap_since`
    the time since when one has been missing. `released` is what readers have; `verbatim` says it is a prefix of `text`.
    `half` is the first half of a surrogate pair, after `text`; a `refusal` and a tool call's arguments may end in one.
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

    def with_deltas(self, deltas: tuple[ToolCallDelta, ...], *, ended: bool = True) -> tuple[ToolCall, ...]:
        """Return the tool calls so far with `deltas` added, each to the call of its index.

        Unless the answer has `ended`, arguments may end in half of a surrogate pair whose other half is to come.
        """
        calls = list(self.tool_calls)
        for delta in deltas:
            # A model that skips an index still means its calls in order: the next free place is the one it gets.
            at = min(delta.index, len(calls))
            known = calls[at] if at < len(calls) else ToolCall(id="", name="")
            arguments = followed_by(known.arguments, delta.arguments or "", ended=False)
            calls[at : at + 1] = [
                like(known, id=delta.id or known.id, name=delta.name or known.name, arguments=arguments)
            ]
        return tuple(like(call, arguments=followed_by(call.arguments, "")) for call in calls) if ended else tuple(calls)

    def grown(self, text: Rope, next_seq: int, released: Rope, *, verbatim: bool) -> Answer:
        """Return `with_` these, and nothing half read: for every frame, so without what that costs for any fields."""
        fields = self.__dict__.copy()
        fields["text"] = text
        fields["half"] = None
        fields["next_seq"] = next_seq
        fields["finish_reason"] = None
        fields["released"] = released
        fields["verbatim"] = verbatim
        copy = _new(Answer)
        _set_fields(copy, fields)
        return copy


@dataclass(frozen=True, slots=True)
class Attempts:
    """How the current step's model calls went: `tries` of the model asked now, `fallbacks` taken from the list so far.

    `model` is the fallback asked now, None for the first choice; `retry_at` when a waiting attempt begins. `interruptions`
    counts calls that were made again because their runner went away.
    """

    tries: int = 0
    fallbacks: int = 0
    model: str | None = None
    retry_at: float | None = None
    interruptions: int = 0


@dataclass(frozen=True)
class Turn(Copied):
    """Everything about one turn that its journal, and that of its thread before it, says.

    `n` is the number of its next record, `confirmed` that of the last one whose effects are known to be published.
    `trace` is the trace context that its request came with, for whoever traces turns.
    `begun` says that its thread was free for it, `started` is what was pinned then, or since then because the pinned chains
    are gone, which `chain_changed` says. `history` what the model is told of
    the thread before this turn, `recent` when its user's turns before it were, as far as that is known (epoch seconds).
    `terminal_n` is the record that decided the outcome. `settled` is the text of the steps before the current one,
    `carried` what the model wrote in them, where steps are judged together; `messages` is what they said and what their
    tools answered. `calls` are the tool calls being run, `results` what came back. `reply` is what post-processors or a
    block put in the place of the text. `since` is when the phase began, `spent` what earlier steps' calls cost.
    """

    request: TurnRequest
    partition: int
    order: int
    accepted_at: float
    deadline_at: float
    readable: bool = True
    trace: str | None = None
    begun: bool = False
    chain_changed: bool = False
    started: Started = field(default_factory=Started)
    history: tuple[Message, ...] = ()
    recent: tuple[float, ...] = ()
    phase: Phase = Phase.QUEUED
    message: tuple[Part, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    prompt: Prompt | None = None
    step: int = 0
    attempt: int = 0
    attempts: Attempts = field(default_factory=Attempts)
    answer: Answer = field(default_factory=Answer)
    settled: Rope = field(default_factory=Rope)
    carried: Rope = field(default_factory=Rope)
    messages: tuple[Message, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    results: dict[str, ToolReturn] = field(default_factory=dict)
    spent: Usage | None = None
    reply: str | None = None
    progress_at: float = 0.0
    n: int = 0
    confirmed: int = -1
    terminal_n: int | None = None
    outcome: str | None = None
    closed_at: tuple[int, int] | None = None

    def grown(self, n: int, confirmed: int, answer: Answer, progress_at: float) -> Turn:
        """Return `with_` these: for every frame, so without what that costs for any fields."""
        fields = self.__dict__.copy()
        fields["n"] = n
        fields["confirmed"] = confirmed
        fields["answer"] = answer
        fields["progress_at"] = progress_at
        copy = _new(Turn)
        _set_fields(copy, fields)
        return copy

    @property
    def key(self) -> TurnKey:
        """The turn's identity."""
        return self.request.turn

    @property
    def user_id(self) -> str | None:
        """Who asks, None if the request does not say."""
        return self.request.user.id if self.request.user is not None else None

    @property
    def buffer(self) -> Rope:
        """The raw text of the current attempt so far, after that of the steps it is judged together with."""
        return self.answer.text

    @property
    def base(self) -> int:
        """How many code points of `answer.released` belong to earlier steps: the text of this one starts there."""
        return self.settled.length if self.settled.length and self.started.carry else 0

    @property
    def released_offset(self) -> int:
        """How many code points of the current step readers have."""
        return self.answer.released.length - self.base

    @property
    def step_text(self) -> str:
        """What is out, or ready to go out, of the current step."""
        return self.answer.released.tail(self.base)

    @property
    def text(self) -> str:
        """What is out, or ready to go out, of all steps."""
        return str(self.settled) + self.step_text

    @property
    def over(self) -> bool:
        """Whether the outcome is decided."""
        return self.phase in (Phase.ENDED, Phase.CLOSED)

    @property
    def calling(self) -> bool:
        """Whether a model call may be running for this turn."""
        return self.phase is Phase.MODEL

    @property
    def stateless(self) -> bool:
        """Whether the caller keeps the conversation and runs the tools."""
        request = self.request
        return any(given is not None for given in (request.history, request.tools, request.continuation))

    @property
    def runs_tools(self) -> bool:
        """Whether tool calls of the model are run here, and lead to another step."""
        persona = self.started.persona
        return persona is not None and bool(persona.tools) and not self.stateless

    def base_prompt(self) -> Prompt:
        """Return the prompt before the input chain: what operator and caller say to the model, and the conversation.

        Its first `len(history)` messages are of earlier turns.
        """
        persona = self.started.persona
        said = [text for text in (persona.system if persona else None, self.request.system) if text]
        system = "\n\n".join(said) if said else self.request.system
        return Prompt(system=system, messages=(*self.earlier, *self.exchange, *self.messages))

    @property
    def exchange(self) -> tuple[Message, ...]:
        """The user's message, and what the caller says came after it."""
        return (self.user_message(), *(self.request.continuation or ()))

    def user_message(self) -> Message:
        """Return the user's message as the pre-processors left it."""
        message = self.message
        content = message[0].text if len(message) == 1 and isinstance(message[0], TextPart) else message
        return Message(role="user", content=content)

    @property
    def earlier(self) -> tuple[Message, ...]:
        """The messages of the conversation before this turn."""
        return (self.request.history or ()) if self.stateless else self.history

    def fresh_answer(self) -> Answer:
        """Return the answer of an attempt that has not said anything yet."""
        if not self.started.carry:
            return Answer()
        return Answer(text=self.carried, released=self.settled, verbatim=False)
