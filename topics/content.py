"""What people and models say to each other: message parts, messages, tool calls and the prompt made of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from topics.text import Text


class Frozen(BaseModel):
    """Base of every wire model: immutable, unknown fields ignored, values never quoted in errors."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class TextPart(Frozen):
    """Text of a message."""

    type: Literal["text"] = "text"
    text: Text


class ImagePart(Frozen):
    """An image of a message, by `url` or as base64 `data`; `media_type` is an RFC 6838 name."""

    type: Literal["image"] = "image"
    url: Text | None = None
    data: Text | None = None
    media_type: Text | None = None


class FilePart(Frozen):
    """A file of a message, by `url` or as base64 `data`."""

    type: Literal["file"] = "file"
    url: Text | None = None
    data: Text | None = None
    name: Text | None = None
    media_type: Text | None = None


Part = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]


class ToolCall(Frozen):
    """A call the model asks for: `arguments` is the JSON text the model wrote, not yet parsed."""

    id: Text
    name: Text
    arguments: Text = ""


class Message(Frozen):
    """One entry of a conversation as a model sees it.

    `content` is a text, a tuple of parts, or None for an assistant entry that only calls tools.
    """

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | tuple[Part, ...] | None = None
    name: Text | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: Text | None = None


class Prompt(Frozen):
    """What goes to the model: the `system` text, if any, and the messages in order, oldest first."""

    system: Text | None = None
    messages: tuple[Message, ...] = ()


class ToolDefinition(Frozen):
    """A tool the model may call; `parameters` is a JSON Schema."""

    name: Annotated[Text, StringConstraints(min_length=1, max_length=200)]
    description: Text | None = None
    parameters: dict[str, Any] | None = None


class User(BaseModel):
    """Who speaks: an `id`, and whatever else the application says about them."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    id: Text


class Usage(Frozen):
    """Tokens of one model call, as the provider counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
