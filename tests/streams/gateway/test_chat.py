"""OpenAI's requests as turns, and what is released as OpenAI's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from streams.gate import events
from streams.gate.policy import Policy
from streams.gateway.chat_answer import Completion
from streams.gateway.chat_request import ChatBody, turn_fields
from streams.gateway.faults import GatewayError
from streams.gateway.models import listed_models, usable_params
from streams.models.openai_request import body_of
from streams.providers import ProviderSettings
from streams.settings import Settings
from tests.cases.case import case
from tests.cases.test_before_the_model import preprocessed
from tests.streams.gate.play import Play
from topics.content import FilePart, ImagePart, Message, TextPart, ToolCall, Usage
from topics.ids import TurnKey
from topics.records import (
    BlockedFrame,
    CancelledFrame,
    CompletedFrame,
    FailedFrame,
    PostprocessCompleteFrame,
    PromptRequest,
    RejectedFrame,
    ReleasedFrame,
    ResetFrame,
    TextFrame,
    TurnRequest,
)

USABLE = usable_params(Settings(script_enabled=True))
TURN = TurnKey("acme", "t", "one")
IDS = TURN._asdict()
USER = {"role": "user", "content": "hi"}


def fields(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return what a request with these messages asks for."""
    return turn_fields(ChatBody.model_validate({"model": "m", "messages": messages, **more}), USABLE)


def refusal(*messages: dict[str, Any], **more: Any) -> str | None:
    """Return the parameter that a request is refused for."""
    with pytest.raises(GatewayError) as raised:
        fields(*messages, **more)
    assert raised.value.status == 400
    return raised.value.param


def test_the_last_thing_that_the_user_said_is_the_turns_message() -> None:
    """What stands before is history, instructions at the top are the system text."""
    found = fields(
        {"role": "system", "content": "Be kind."},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "system", "content": "It is late."},
        {"role": "user", "content": [{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]},
    )
    assert found["system"] == "Be kind.\n\nBe brief."
    assert found["history"] == (
        Message(role="user", content="Hello"),
        Message(role="assistant", content="Hello!"),
        Message(role="system", content="It is late."),
    )
    assert found["message"] == (TextPart(text="What is "), TextPart(text="this?"))
    assert "continuation" not in found
    TurnRequest(thread_id="t", turn_id="x", **{name: value for name, value in found.items() if "_id" not in name})


def test_tool_results_reach_the_model_behind_the_message_that_led_to_them() -> None:
    """The turn is stateless, and the prompt is the conversation as the caller has it."""
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "1 and 1?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
    ]
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}, "strict": True}}]
    found = fields(*messages, tools=tools, temperature=0.5, stop=None)
    assert found["continuation"] == (
        Message(role="assistant", tool_calls=(ToolCall(id="c1", name="add", arguments='{"a":1}'),)),
        Message(role="tool", content="2", tool_call_id="c1"),
    )
    play = Play(**{name: value for name, value in found.items() if name != "delivery"}).start()
    assert play.turn.stateless
    (prompt,) = play.of(PromptRequest)
    body = body_of(prompt, default_model=None)
    assert body["messages"] == messages
    assert (body["model"], body["temperature"]) == ("m", 0.5)
    assert "stop" not in body


def test_images_and_files_are_parts() -> None:
    """What is inline is data with its type."""
    found = fields(
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "https://files.example/1.png", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
            ],
        }
    )
    assert found["message"] == (
        ImagePart(url="https://files.example/1.png"),
        ImagePart(data="AAAA", media_type="image/png"),
        FilePart(data="BBBB", media_type="application/pdf", name="a.pdf"),
    )


def test_what_a_turn_has_no_form_for_is_refused_with_its_name() -> None:
    """Rather than left out without a word."""
    assert refusal(USER, n=2) == "n"
    assert refusal({"role": "system", "content": "x"}) == "messages"
    assert refusal({"role": "user", "content": ""}) == "messages.0.content"
    assert refusal(USER, functions=[]) == "functions"
    assert refusal(USER, modalities=["audio"]) == "modalities"
    assert refusal(USER, turngate={"params": {"messages": []}}) == "messages"
    image = [{"type": "image_url", "image_url": {"url": "https://x.example"}}]
    assert refusal({"role": "assistant", "content": image}, USER) == "messages.0.content"
    assert refusal({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}) == "messages.0.content.0"
    wrong: dict[str, Any]
    for wrong in (
        {"messages": []},
        {"messages": [{"role": "function", "content": "x"}]},
        {"messages": [USER], "tools": [{}]},
    ):
        with pytest.raises(ValidationError):
            ChatBody.model_validate(wrong)


def test_what_changes_nothing_is_taken_and_dropped() -> None:
    """Clients send it without being asked."""
    found = fields(USER, n=1, store=True, metadata={"a": "b"}, modalities=["text"], logprobs=False, seed=1)
    assert found["params"] == {"seed": 1, "logprobs": False}
    assert "params" not in fields(USER)
    assert fields(USER, model="default").get("model") is None


def test_a_turns_own_fields_go_beside() -> None:
    """`user` is the turn's, and never a parameter of the provider's."""
    more = {
        "agent": "support",
        "channel": "web",
        "thread_id": "t9",
        "turn_id": "x",
        "attributes": {"a": 1},
        "deadline_s": 5,
    }
    found = fields(USER, user="u-1", stream=True, turngate={**more, "params": {"script": ["x"]}})
    assert {name: found[name] for name in more} == more
    assert (found["user"].id, found["delivery"], found["params"]) == ("u-1", "stream", {"script": ["x"]})


def test_models_are_those_that_the_settings_spell_out() -> None:
    """And `default`, which is always there."""
    provider = ProviderSettings(base_url="https://x.example", models=("qwen3-8b", "llama-*"))
    settings = Settings(openai_model="large", fallback_models=("small", "large"), providers={"spare": provider})
    assert listed_models(settings) == ("default", "large", "small", "spare/qwen3-8b")


# -- answers ----------------------------------------------------------------------------------------------------------


def completed(**more: Any) -> CompletedFrame:
    """Return the end of a turn whose reply is `Hello you.`."""
    return CompletedFrame(**{**IDS, "reply": "Hello you.", "length": 10, "finish_reason": "stop", **more})


def streamed(*frames: ReleasedFrame, include_usage: bool = False) -> list[dict[str, Any]]:
    """Return the chunks that tell frames; they can be written as JSON."""
    answer = Completion(TURN, "m", 1.5, include_usage=include_usage)
    found = [chunk for one in frames for chunk in answer.chunks(one)]
    parsed: list[dict[str, Any]] = json.loads(json.dumps(found))
    return parsed


def content(chunks: list[dict[str, Any]]) -> str:
    """Return what a client puts together."""
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


def last_choice(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the choice that has the finish reason."""
    (found,) = [choice for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
    assert isinstance(found, dict)
    return found


def whole(end: Any, reply: str) -> dict[str, Any]:
    """Return the choice of an answer that is not streamed."""
    answer = Completion(TURN, "m", 1.5).whole(end, reply)
    (choice,) = answer["choices"]
    assert answer["object"] == "chat.completion"
    assert isinstance(choice, dict)
    return choice


def test_text_is_told_as_it_comes() -> None:
    """A role first, one finish reason, and usage at the end if it was asked for."""
    usage = Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
    frames = (TextFrame(**IDS, text="Hello "), TextFrame(**IDS, offset=6, text="you."), completed(usage=usage))
    chunks = streamed(*frames, include_usage=True)
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert content(chunks) == "Hello you."
    assert last_choice(chunks)["finish_reason"] == "stop"
    assert (chunks[-1]["choices"], chunks[-1]["usage"]) == ([], usage.model_dump())
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert not any("usage" in chunk for chunk in streamed(*frames))


def test_tool_calls_and_refusals_are_told_both_ways() -> None:
    """As deltas with an index, and as a message without."""
    calls = (ToolCall(id="c1", name="add", arguments="{}"), ToolCall(id="c2", name="sub", arguments="{}"))
    end = completed(reply="", length=0, tool_calls=calls)
    chunks = streamed(end)
    deltas = [
        choice["delta"]["tool_calls"] for one in chunks for choice in one["choices"] if "tool_calls" in choice["delta"]
    ]
    assert [(one["index"], one["id"], one["function"]["name"]) for one in deltas[0]] == [
        (0, "c1", "add"),
        (1, "c2", "sub"),
    ]
    assert last_choice(chunks)["finish_reason"] == whole(end, "")["finish_reason"] == "tool_calls"
    message = whole(end, "")["message"]
    assert (message["content"], [call["id"] for call in message["tool_calls"]]) == (None, ["c1", "c2"])
    assert "index" not in message["tool_calls"][0]
    refused = completed(reply="", length=0, refusal="I will not.")
    assert whole(refused, "")["message"]["refusal"] == "I will not."
    assert any(choice["delta"].get("refusal") for one in streamed(refused) for choice in one["choices"])


def test_a_rejection_is_a_content_filter_finish_with_an_error() -> None:
    """What was released before stays."""
    end = RejectedFrame(**IDS, processor="no-keys")
    chunks = streamed(TextFrame(**IDS, text="Open the "), end)
    assert content(chunks) == "Open the "
    for choice in (last_choice(chunks), whole(end, "")):
        assert choice["finish_reason"] == "content_filter"
        assert (choice["error"]["type"], choice["error"]["code"]) == ("OutputRejectedError", "content_filter")
        assert "no-keys" in choice["error"]["message"]


def test_a_block_is_its_response() -> None:
    """The operator's words, which are the reply."""
    end = BlockedFrame(**IDS, response="We are closed.", processor="hours")
    assert content(streamed(end)) == whole(end, end.response)["message"]["content"] == "We are closed."
    assert last_choice(streamed(end))["finish_reason"] == "stop"
    assert streamed(end)[-1]["turngate"]["processor"] == "hours"


async def test_an_empty_block_is_named_to_a_client_that_does_not_stream() -> None:
    """`pre-order-and-failure/empty-block`: from the request to what the client gets."""
    one = case("pre-order-and-failure/empty-block")
    expected = one.expected["by_client"]["non_streaming"]
    asked = fields(USER, stream=False)
    play = Play(Policy(has_pre=True), **asked).start()
    play.happen(events.PreDone(await preprocessed(one)))
    (end,) = play.of(BlockedFrame)
    choice = whole(end, end.response)
    assert (choice["error"]["code"], choice["message"]["content"]) == (expected["result"], expected["text"])
    assert choice["finish_reason"] == "content_filter"


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        ("ModelFailedError", 502, "true"),
        ("TurnTimeoutError", 504, "true"),
        ("FrameGapError", 502, "true"),
        ("AnswerTooLargeError", 502, "false"),
        ("ProcessorFailedError", 500, "false"),
        ("InvalidRequestError", 400, "false"),
    ],
)
def test_a_failure_is_an_error_with_a_status(error: Any, status: int, retry: str) -> None:
    """Clients retry by it, unless told not to."""
    end = FailedFrame(**IDS, error=error, message="look there")
    for tell in (lambda: whole(end, ""), lambda: streamed(end)):
        with pytest.raises(GatewayError, match="look there") as raised:
            tell()
        assert (raised.value.status, raised.value.headers["x-should-retry"]) == (status, retry)


def test_what_cannot_be_told_ends_the_stream() -> None:
    """Text cannot be taken back from an OpenAI client, so a new attempt ends it; so does a cancellation."""
    with pytest.raises(GatewayError) as raised:
        streamed(TextFrame(**IDS, text="wrong"), ResetFrame(**IDS, attempt=1))
    assert raised.value.code == "attempt_restarted"
    with pytest.raises(GatewayError) as raised:
        streamed(CancelledFrame(**IDS))
    assert raised.value.code == "cancelled"


def test_a_post_processed_reply_is_told_as_far_as_it_goes_on() -> None:
    """A footer is more text; another wording comes beside the last chunk."""
    text = TextFrame(**IDS, text="Hello you.")
    longer = streamed(text, PostprocessCompleteFrame(**IDS, text="Hello you. Bye."), completed())
    assert content(longer) == "Hello you. Bye."
    assert "reply" not in longer[-1]["turngate"]
    other = streamed(text, PostprocessCompleteFrame(**IDS, text="Good day."), completed())
    assert content(other) == "Hello you."
    assert other[-1]["turngate"]["reply"] == "Good day."
