"""What is sent to a chat completions server for a request."""

from __future__ import annotations

from typing import Any

import pytest

from streams.models.errors import InvalidParamsError, ModelNotConfiguredError, UnsupportedContentError
from streams.models.openai_request import ALLOWED_PARAMS, IGNORED_PARAMS, RESERVED_PARAMS, body_of, messages_of
from tests.streams.models.requests import request
from topics.content import FilePart, ImagePart, Message, Prompt, TextPart, ToolCall, ToolDefinition


def test_the_system_text_comes_first() -> None:
    """It is a message of its own, before all others; an empty one is none."""
    hello = Message(role="user", content="hello")

    assert messages_of(Prompt(system="be brief", messages=(hello,))) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
    ]
    assert messages_of(Prompt(system="", messages=(hello,))) == [{"role": "user", "content": "hello"}]


def test_parts_keep_their_order_and_kind() -> None:
    """Texts, images and files of a user become the API's parts."""
    parts = (
        TextPart(text="look"),
        ImagePart(url="https://example.org/cat.png"),
        ImagePart(data="AAAA", media_type="image/png"),
        FilePart(data="BBBB", media_type="application/pdf", name="a.pdf"),
        FilePart(data="data:text/plain;base64,CCCC"),
    )

    [message] = messages_of(Prompt(messages=(Message(role="user", name="ann", content=parts),)))

    assert message == {
        "role": "user",
        "name": "ann",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
            {"type": "file", "file": {"filename": "file", "file_data": "data:text/plain;base64,CCCC"}},
        ],
    }


def test_a_single_text_part_is_a_plain_text() -> None:
    """Servers that know no parts can take it."""
    [message] = messages_of(Prompt(messages=(Message(role="tool", tool_call_id="a", content=(TextPart(text="5"),)),)))

    assert message == {"role": "tool", "tool_call_id": "a", "content": "5"}


def test_tool_calls_and_their_results_are_linked() -> None:
    """An assistant's calls and the results name the same ids; arguments stay the text they were."""
    prompt = Prompt(
        messages=(
            Message(role="assistant", tool_calls=(ToolCall(id="a", name="add", arguments='{"x": 1}'),)),
            Message(role="tool", tool_call_id="a", content="2"),
        )
    )

    assert messages_of(prompt) == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"x": 1}'}}],
        },
        {"role": "tool", "content": "2", "tool_call_id": "a"},
    ]


@pytest.mark.parametrize(
    ("role", "part"),
    [
        ("user", FilePart(url="https://example.org/secret-name.pdf")),
        ("user", FilePart()),
        ("user", ImagePart()),
        ("user", ImagePart(data="secret-name")),
        ("assistant", ImagePart(url="https://example.org/secret-name.png")),
        ("tool", FilePart(data="secret-name", media_type="text/plain")),
    ],
)
def test_a_part_without_a_form_in_the_api_is_refused_unquoted(role: Any, part: Any) -> None:
    """Leaving it out would ask the model something else; the refusal does not quote it."""
    with pytest.raises(UnsupportedContentError) as caught:
        messages_of(Prompt(messages=(Message(role=role, content=(TextPart(text="x"), part)),)))

    assert "secret-name" not in str(caught.value)


def test_tools_are_declared_as_functions() -> None:
    """What a tool does not say is left out."""
    tools = (ToolDefinition(name="add", description="adds", parameters={"type": "object"}), ToolDefinition(name="now"))

    assert body_of(request(tools=tools), default_model="m")["tools"] == [
        {"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object"}}},
        {"type": "function", "function": {"name": "now"}},
    ]
    assert "tools" not in body_of(request(), default_model="m")


def test_the_request_chooses_the_model_before_the_operator() -> None:
    """The operator's model is for requests that name none; with neither there is nothing to ask."""
    assert body_of(request(model="theirs"), default_model="ours")["model"] == "theirs"
    assert body_of(request(), default_model="ours")["model"] == "ours"
    with pytest.raises(ModelNotConfiguredError, match="TURNGATE_OPENAI_MODEL"):
        body_of(request(), default_model=None)


@pytest.mark.parametrize("name", sorted(ALLOWED_PARAMS))
def test_sampling_params_are_passed_on(name: str) -> None:
    """Their values are the server's to judge."""
    assert body_of(request(params={name: "value"}), default_model="m")[name] == "value"


@pytest.mark.parametrize("name", sorted(RESERVED_PARAMS | {"functions", "prediction", "modalities", "chat_template"}))
def test_params_that_change_what_is_asked_are_refused_by_name(name: str) -> None:
    """No caller can put text beside the prompt that the input processors passed, or ask for another kind of output."""
    with pytest.raises(InvalidParamsError, match=f"params.{name}"):
        body_of(request(params={name: 2}), default_model="m")


@pytest.mark.parametrize("name", sorted(RESERVED_PARAMS))
def test_not_even_the_operator_can_have_the_adapters_own_fields_overridden(name: str) -> None:
    """Allowing such a name by mistake has no effect."""
    with pytest.raises(InvalidParamsError):
        body_of(request(params={name: 2}), default_model="m", extra_params={name})


def test_one_answer_may_be_asked_for_and_log_probabilities_are_dropped() -> None:
    """What many clients send without meaning anything by it does no harm."""
    params: dict[str, Any] = dict.fromkeys(IGNORED_PARAMS, True) | {"n": 1}

    assert body_of(request(params=params), default_model="m") == body_of(request(), default_model="m")


def test_a_param_whose_name_may_be_content_is_not_quoted() -> None:
    """Only what looks like a name is shown."""
    with pytest.raises(InvalidParamsError) as caught:
        body_of(request(params={"my password is hunter2": 1}), default_model="m")

    assert "hunter2" not in str(caught.value)
