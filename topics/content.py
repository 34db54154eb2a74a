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
    """must be written in a list of parts"""
    text: Text
    """the text"""


class ImagePart(Frozen):
    """An image of a message, by `url` or as base64 `data`; `media_type` is an RFC 6838 name."""

    type: Literal["image"] = "image"
    """must be written"""
    url: Text | None = None
    """where it is; either this or `data`"""
    data: Text | None = None
    """the image itself in base64, or a `data:` URL"""
    media_type: Text | None = None
    """e.g. `image/png`; needed with base64 `data`"""


class FilePart(Frozen):
    """A file of a message, by `url` or as base64 `data`."""

    type: Literal["file"] = "file"
    """must be written"""
    url: Text | None = None
    """where it is; either this or `data`"""
    data: Text | None = None
    """the file itself in base64, or a `data:` URL"""
    name: Text | None = None
    """its name"""
    media_type: Text | None = None
    """e.g. `application/pdf`; needed with base64 `data`"""


Part = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="type")]


class ToolCall(Frozen):
    """A call the model asks for: `arguments` is the JSON text the model wrote, not yet parsed."""

    id: Text
    """which call it is"""
    name: Text
    """the tool"""
    arguments: Text = ""
    """JSON as the model wrote it: parse it with care"""


class Message(Frozen):
    """One entry of a conversation as a model sees it.

    `content` is a text, a list of parts, or null for an assistant entry that only calls tools.
    """

    role: Literal["system", "developer", "user", "assistant", "tool"]
    """who said it"""
    content: Text | tuple[Part, ...] | None = None
    """what was said; null for an assistant that only calls tools"""
    name: Text | None = None
    """the speaker's name, where there are several"""
    tool_calls: tuple[ToolCall, ...] = ()
    """what an assistant called"""
    tool_call_id: Text | None = None
    """which call a tool's message answers"""


class Prompt(Frozen):
    """What goes to the model: the `system` text, if any, and the messages in order, oldest first."""

    system: Text | None = None
    """the system text"""
    messages: tuple[Message, ...] = ()
    """oldest first; the user's message is the last"""


class ToolDefinition(Frozen):
    """A tool the model may call; `parameters` is a JSON Schema."""

    name: Annotated[Text, StringConstraints(min_length=1, max_length=200)]
    """the tool's name"""
    description: Text | None = None
    """for the model"""
    parameters: dict[str, Any] | None = None
    """a JSON Schema of its arguments"""


class User(BaseModel):
    """Who speaks: an `id`, and whatever else the application says about them."""

    model_config = ConfigDict(frozen=True, extra="allow", hide_input_in_errors=True)

    id: Text
    """who speaks; `user_id` of usage records"""


class Usage(Frozen):
    """Tokens of one model call, as the provider counted them."""

    prompt_tokens: int = 0
    """what was sent"""
    completion_tokens: int = 0
    """what was answered"""
    total_tokens: int = 0
    """both"""
