"""A chat completion request of OpenAI's API as the fields of a turn.

The turn is stateless: the caller keeps the conversation and runs the tools. Its message is the last thing the user said;
what stands before is history, what comes after (tool calls and their results) its continuation. So pre-processors see the
user's words again with every request of an exchange, and what they made of them holds for all of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, StringConstraints

from streams.gateway.faults import GatewayError
from streams.gateway.models import DEFAULT_MODEL
from topics.content import FilePart, ImagePart, Message, Part, TextPart, ToolCall, ToolDefinition, User
from topics.ids import Id
from topics.text import Text

#: Accepted and dropped: nothing here depends on them.
DROPPED = frozenset(
    {"metadata", "prediction", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "store"}
)
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)
_MAX_NAME_SHOWN = 60
_MAX_MESSAGES = 10_000

_SHAPE = ConfigDict(extra="ignore", hide_input_in_errors=True)


class Function(BaseModel):
    """A function as a request defines it, or as an assistant's message calls it."""

    model_config = _SHAPE

    name: Annotated[Text, StringConstraints(min_length=1, max_length=200)]
    description: Text | None = None
    parameters: dict[str, Any] | None = None
    arguments: Text = ""


class Tool(BaseModel):
    """A tool that the model may call."""

    model_config = _SHAPE

    type: Literal["function"]
    function: Function


class Call(BaseModel):
    """A tool call in an assistant's message."""

    model_config = _SHAPE

    id: Text
    type: Literal["function"] = "function"
    function: Function


class ContentPart(BaseModel):
    """A part of a message's content."""

    model_config = _SHAPE

    type: Literal["text", "image_url", "file", "refusal"]
    text: Text | None = None
    refusal: Text | None = None
    image_url: dict[str, Any] | None = None
    file: dict[str, Any] | None = None


class ChatMessage(BaseModel):
    """One message of the conversation."""

    model_config = _SHAPE

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: Text | list[ContentPart] | None = None
    name: Text | None = None
    tool_calls: list[Call] | None = None
    tool_call_id: Text | None = None


class StreamOptions(BaseModel):
    """What else a stream is to contain."""

    model_config = _SHAPE

    include_usage: bool = False


class Extension(BaseModel):
    """What turngate knows beside OpenAI's API; in the Python SDK: `extra_body={"turngate": {…}}`.

    With a `thread_id` and `turn_id` of an earlier request that one is answered again. `params` are more parameters for the
    model, where the operator allows them.
    """

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    agent: Id = "default"
    channel: Id = "default"
    thread_id: Id | None = None
    turn_id: Id | None = None
    attributes: dict[str, Any] | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    deadline_s: PositiveFloat | None = None
    cancel_on_disconnect: bool = False


class ChatBody(BaseModel):
    """A request for a chat completion. Parameters beside these go to the model, where the operator allows them."""

    model_config = ConfigDict(extra="allow", hide_input_in_errors=True)

    model: Text = DEFAULT_MODEL
    messages: list[ChatMessage] = Field(min_length=1, max_length=_MAX_MESSAGES)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Tool] | None = None
    user: Id | None = None
    turngate: Extension = Field(default_factory=Extension)

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with what the turn cost."""
        return self.stream_options is not None and self.stream_options.include_usage


def turn_fields(body: ChatBody, usable: Collection[str]) -> dict[str, Any]:
    """Return the fields of the `TurnRequest` that asks for what `body` asks for; `usable` are the parameters allowed.

    Raises:
        GatewayError: it asks for something that a turn has no form for.
    """
    if body.n not in {None, 1}:
        raise _refused("n", "a turn has one answer: leave n out")
    system, before, message, after = _conversation(body.messages)
    extension = body.turngate
    fields: dict[str, Any] = {
        "message": message,
        "history": before,
        "continuation": after or None,
        "system": system,
        "tools": tuple(_tool(tool) for tool in body.tools) if body.tools else None,
        "model": None if body.model == DEFAULT_MODEL else body.model,
        "user": User(id=body.user) if body.user is not None else None,
        "params": _params(body, usable) or None,
        "delivery": "stream" if body.stream else "final",
        "agent": extension.agent,
        "channel": extension.channel,
        "thread_id": extension.thread_id,
        "turn_id": extension.turn_id,
        "attributes": extension.attributes,
        "deadline_s": extension.deadline_s,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _conversation(
    messages: list[ChatMessage],
) -> tuple[str | None, tuple[Message, ...], tuple[Part, ...], tuple[Message, ...]]:
    """Return the system text, what came before the user's last message, that message, and what came after it."""
    asked = max((number for number, one in enumerate(messages) if one.role == "user"), default=None)
    if asked is None:
        raise _refused("messages", "there has to be a message of role user")
    first = next(number for number, one in enumerate(messages) if one.role not in {"system", "developer"})
    system = "\n\n".join(_plain(one, number) for number, one in enumerate(messages[:first]))
    parts = _parts(messages[asked], asked)
    if not parts:
        raise _refused(f"messages.{asked}.content", "the user's message has no content")
    before = tuple(_message(one, number) for number, one in enumerate(messages[first:asked], first))
    after = tuple(_message(one, number) for number, one in enumerate(messages[asked + 1 :], asked + 1))
    return system or None, before, parts, after


def _message(one: ChatMessage, number: int) -> Message:
    content: str | tuple[Part, ...] | None
    if one.content is None or isinstance(one.content, str):
        content = one.content
    else:
        content = _parts(one, number) if one.role == "user" else _plain(one, number)
    return Message(
        role=one.role,
        content=content,
        name=one.name,
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
            for call in one.tool_calls or ()
        ),
        tool_call_id=one.tool_call_id,
    )


def _plain(one: ChatMessage, number: int) -> str:
    """Return the text of a message that is not a user's."""
    if one.content is None or isinstance(one.content, str):
        return one.content or ""
    if any(part.type not in {"text", "refusal"} for part in one.content):
        raise _refused(f"messages.{number}.content", "only messages of role user may have images and files")
    return "".join(part.text or part.refusal or "" for part in one.content)


def _parts(one: ChatMessage, number: int) -> tuple[Part, ...]:
    if one.content is None or isinstance(one.content, str):
        return (TextPart(text=one.content),) if one.content else ()
    return tuple(_part(part, f"messages.{number}.content.{place}") for place, part in enumerate(one.content))


def _part(part: ContentPart, where: str) -> Part:
    if part.type == "text" and part.text is not None:
        return TextPart(text=part.text)
    if part.type == "image_url" and part.image_url is not None:
        url = part.image_url.get("url")
        if isinstance(url, str):
            inline = _DATA_URL.fullmatch(url)
            return ImagePart(media_type=inline[1], data=inline[2]) if inline else ImagePart(url=url)
    if part.type == "file" and part.file is not None:
        data, name = part.file.get("file_data"), part.file.get("filename")
        inline = _DATA_URL.fullmatch(data) if isinstance(data, str) else None
        if inline and (name is None or isinstance(name, str)):
            return FilePart(data=inline[2], media_type=inline[1], name=name)
    raise _refused(where, "write a part of type text, image_url with a url, or file with file_data as a data: URL")


def _tool(tool: Tool) -> ToolDefinition:
    function = tool.function
    return ToolDefinition(name=function.name, description=function.description, parameters=function.parameters)


def _params(body: ChatBody, usable: Collection[str]) -> dict[str, Any]:
    given = {**(body.model_extra or {}), **body.turngate.params}
    found = {name: value for name, value in given.items() if value is not None and name not in DROPPED}
    if found.get("modalities") == ["text"]:
        del found["modalities"]
    for name in _unusable(found, usable):
        shown = name if name.isidentifier() and len(name) <= _MAX_NAME_SHOWN else "(a name that is no identifier)"
        raise _refused(shown, f"{shown} is no parameter that requests may set here")
    return found


def _unusable(names: Iterable[str], usable: Collection[str]) -> list[str]:
    return [name for name in names if name not in usable]


def _refused(param: str, message: str) -> GatewayError:
    return GatewayError(400, message, param=param, code="unsupported_value")
