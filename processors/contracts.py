"""What processors see: the answer, the prompt, the incoming message, the finished reply, and the turn they belong to.

Everything here is immutable and can be built with few arguments, so that `Answer("text")` is enough in a test. Mappings
hold JSON values only, and are to be read, not written: a processor that has something to say returns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topics.content import FilePart, ImagePart, Message, Part, Prompt, TextPart, ToolCall, ToolDefinition, Usage, User

__all__ = [
    "Answer",
    "FilePart",
    "ImagePart",
    "IncomingMessage",
    "Message",
    "Part",
    "Prompt",
    "Reply",
    "TextPart",
    "ToolCall",
    "ToolCallCheck",
    "ToolDefinition",
    "TurnContext",
    "Usage",
    "User",
    "text_of",
]


def text_of(parts: tuple[Part, ...]) -> str:
    """Return the text parts of a message as one text, in order, a line each."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


@dataclass(frozen=True)
class TurnContext:
    """The turn a processor runs for.

    `step` and `attempt` count from 0. `attributes` is what the caller sent along with the request; `metadata` is what
    the pre-processors of this turn have said so far. `recent_turns` are the times of the user's other turns in seconds
    since the epoch, newest last, as far as the worker knows them, where somebody asks for them with `recent_turns_s`: for
    limits on how often somebody may ask.
    """

    tenant: str = "default"
    thread_id: str = "thread"
    turn_id: str = "turn"
    agent: str = "default"
    channel: str = "default"
    user: User | None = None
    step: int = 0
    attempt: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    recent_turns: tuple[float, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """A text that is the same whenever this turn, step and attempt are processed again, and for nothing else.

        A processor that calls a paid or writing service passes it on, so that a repeated pass is not counted twice.
        None of its parts may contain a slash, so no two turns share one.
        """
        return f"{self.tenant}/{self.thread_id}/{self.turn_id}/{self.step}/{self.attempt}"


@dataclass(frozen=True)
class Answer:
    """A model's answer of one step, as an output processor sees it.

    On a prefix pass `complete` is False: `text` is then what has arrived so far, there are no `tool_calls`, and
    `finish_reason` is None. `refusal` is the model's own refusal, where the provider reports one.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    step: int = 0
    attempt: int = 0
    finish_reason: str | None = None
    refusal: str | None = None
    complete: bool = True
    context: TurnContext = field(default_factory=TurnContext)


@dataclass(frozen=True)
class IncomingMessage:
    """A user's message, as a pre-processor sees it: `metadata` is what earlier pre-processors said."""

    message: tuple[Part, ...]
    user: User | None = None
    channel: str = "default"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: TurnContext = field(default_factory=TurnContext)

    @property
    def text(self) -> str:
        """The text parts of the message, a line each."""
        return text_of(self.message)


@dataclass(frozen=True)
class Reply:
    """A turn's final reply, as a post-processor sees it: `text`, and the `message` it answers as the user sent it."""

    text: str
    message: tuple[Part, ...] = ()
    user: User | None = None
    channel: str = "default"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: TurnContext = field(default_factory=TurnContext)


@dataclass(frozen=True)
class ToolCallCheck:
    """A tool call that a model asks for, as a tool rule sees it: after the output chain, before anybody makes it.

    `tool` is what the model was told of the tool, None if it was told of none by that name.
    """

    call: ToolCall
    tool: ToolDefinition | None = None
    context: TurnContext = field(default_factory=TurnContext)
