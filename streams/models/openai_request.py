"""A `PromptRequest` as the body of an OpenAI chat completion request.

Callers choose how the model samples and in which format it answers, not what it is asked: messages go through the input
processors, so `params` may name nothing that brings in messages, templates or tools beside them, nor output that is not
text, nor a second choice. Reference for the names: OpenAI's API of chat completions, and the sampling numbers that
compatible servers have in common.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from streams.models.errors import InvalidParamsError, ModelNotConfiguredError, UnsupportedContentError
from topics.content import FilePart, ImagePart, Message, Part, Prompt, TextPart, ToolCall, ToolDefinition
from topics.records import PromptRequest

#: What `params` may always name; each is passed on as it is.
ALLOWED_PARAMS = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "max_completion_tokens",
        "max_tokens",
        "min_p",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "seed",
        "service_tier",
        "stop",
        "temperature",
        "tool_choice",
        "top_k",
        "top_p",
        "user",
        "verbosity",
    }
)
#: What the adapter itself says to the server: not even the operator can have `params` override it.
RESERVED_PARAMS = frozenset({"messages", "model", "n", "stream", "stream_options", "tools"})
#: Accepted and dropped: what they ask for is never delivered.
IGNORED_PARAMS = frozenset({"logprobs", "top_logprobs"})

_MAX_NAME_SHOWN = 40


def body_of(request: PromptRequest, *, default_model: str | None, extra_params: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON body that asks a chat completions server for `request`, streamed, usage included.

    `extra_params` are names that the operator allows in `params` beside `ALLOWED_PARAMS`.

    Raises:
        InvalidParamsError: `params` name something that is not theirs to set.
        ModelNotConfiguredError: neither the request nor the operator names a model.
        UnsupportedContentError: a message has a part that this API has no form for.
    """
    model = request.model or default_model
    if not model:
        raise ModelNotConfiguredError("no model named: name one in the request, or set TURNGATE_OPENAI_MODEL")
    body = _params(request.params or {}, extra_params)
    body |= {
        "model": model,
        "messages": messages_of(request.prompt),
        "n": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def messages_of(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the messages of `prompt` in the API's form, its system text first.

    Raises:
        UnsupportedContentError: a message has a part that this API has no form for.
    """
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    return messages + [_message(message) for message in prompt.messages]


def _params(params: Mapping[str, Any], extra_params: Collection[str]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for name, value in params.items():
        if name in IGNORED_PARAMS or (name == "n" and value == 1):
            continue
        if name == "n":
            raise InvalidParamsError("params.n: a turn has one answer, leave it out")
        if name in RESERVED_PARAMS:
            raise InvalidParamsError(f"params.{name}: not to be set here, the request has its own fields for it")
        if name not in ALLOWED_PARAMS and name not in extra_params:
            raise InvalidParamsError(
                f"params.{_shown(name)}: not a parameter that callers may set; leave it out, or have the operator "
                "allow it in TURNGATE_OPENAI_EXTRA_PARAMS"
            )
        body[name] = value
    return body


def _shown(name: str) -> str:
    """Return the name of a parameter, unless it does not look like one: then it may be anything, also content."""
    return name if name.isidentifier() and len(name) <= _MAX_NAME_SHOWN else "(a name that is no identifier)"


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}


def _message(message: Message) -> dict[str, Any]:
    data: dict[str, Any] = {"role": message.role, "content": _content(message)}
    if message.name is not None:
        data["name"] = message.name
    if message.tool_calls:
        data["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        data["tool_call_id"] = message.tool_call_id
    return data


def _tool_call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _content(message: Message) -> str | list[dict[str, Any]] | None:
    content = message.content
    if content is None or isinstance(content, str):
        return content
    if len(content) == 1 and isinstance(content[0], TextPart):
        # Many compatible servers know lists of parts only from users, and some not at all.
        return content[0].text
    return [_part(part, message.role) for part in content]


def _part(part: Part, role: str) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if role != "user":
        raise UnsupportedContentError(f"a message of role {role} has a part of type {part.type}: only a user's may")
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": part.url or _data_url(part)}}
    if part.data is None:
        raise UnsupportedContentError("a file without data: this API takes no file by url, send its data")
    return {"type": "file", "file": {"filename": part.name or "file", "file_data": _data_url(part)}}


def _data_url(part: ImagePart | FilePart) -> str:
    if part.data is None:
        raise UnsupportedContentError(f"a part of type {part.type} without url and data: send one of them")
    if part.data.startswith("data:"):
        return part.data
    if part.media_type is None:
        raise UnsupportedContentError(f"a part of type {part.type} has data and no media_type: say what the data is")
    return f"data:{part.media_type};base64,{part.data}"
