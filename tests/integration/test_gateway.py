"""Existing OpenAI clients against a whole pipeline with a gateway: nothing changed but their base URL."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam

from streams.brokers import ports
from tests import fetched
from tests.docs.markdown import ROOT
from tests.streams.cli.pipeline import Up, wait_for

pytestmark = pytest.mark.embedded

PIN = ["my pin ", "is 12", "34, ", "and that is ", "all"]
MASKED = "my pin is ####, and that is all"
SLOW = [*PIN[:4], {"text": PIN[4], "delay_s": 1}]
CURSE = ["oh well, well, ", {"text": "darn it all", "delay_s": 0.5}]
NODE_CLIENT = "openai@>=5"
ADD: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}},
}
CALL = [
    {"tool_call_delta": {"index": 0, "id": "c1", "name": "add", "arguments": '{"a":'}},
    {"tool_call_delta": {"index": 0, "arguments": "1}"}},
    {"finish_reason": "tool_calls"},
]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Give a pipeline that masks pins, refuses curses and blocks lotteries."""
    directory = tmp_path_factory.mktemp("up")
    port = str(ports.free_port())
    running = Up.start(
        directory, "--model", "script", "--deps", "guard:deps", "--partitions", "2", "--gateway-port", port
    )
    wait_for(lambda: ports.is_open(int(port)), "the gateway does not come up")
    yield running
    if running.process.poll() is None:
        running.end(signal.SIGTERM)


@pytest.fixture
def base_url(up: Up) -> str:
    """Give what goes into a client."""
    return f"{up.first['gateway']}/v1"


@pytest.fixture
def client(base_url: str) -> Iterator[openai.OpenAI]:
    """Give OpenAI's own client."""
    with openai.OpenAI(base_url=base_url, api_key="unused", max_retries=0, timeout=60) as made:
        yield made


def asked(script: list[Any], text: str = "my pin?") -> dict[str, Any]:
    """Return the arguments that every call here has."""
    return {
        "model": "default",
        "messages": [{"role": "user", "content": text}],
        "extra_body": {"turngate": {"params": {"script": script}}},
    }


def test_an_answer_is_gated_streamed_and_not(client: openai.OpenAI) -> None:
    """The pin is cut in two by the model's chunks, and nobody sees it."""
    whole = client.chat.completions.create(**asked(PIN), temperature=0.1, max_tokens=100, user="u-1", n=1)
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == (MASKED, "stop")
    chunks = list(client.chat.completions.create(**asked(SLOW), stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == MASKED
    assert len([chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]) > 1
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []


def test_usage_comes_with_the_answer(client: openai.OpenAI) -> None:
    """As the model said it."""
    script = [
        "all",
        {"finish_reason": "length", "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}},
    ]
    whole = client.chat.completions.create(**asked(script))
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage is not None
    assert whole.usage.total_tokens == 5
    *_, last = client.chat.completions.create(**asked(script), stream=True, stream_options={"include_usage": True})
    assert last.usage is not None
    assert last.usage.prompt_tokens == 3


def test_the_helper_that_puts_streams_together_takes_it(client: openai.OpenAI) -> None:
    """The SDK's own accumulation of chunks and tool calls, which is strict about their shape."""
    with client.chat.completions.stream(**asked(CALL), tools=[ADD]) as stream:
        final = stream.get_final_completion()
    (call,) = final.choices[0].message.tool_calls or []
    assert (call.id, call.function.name, call.function.arguments) == ("c1", "add", '{"a":1}')


def test_the_caller_runs_the_tools(client: openai.OpenAI) -> None:
    """A tool call ends the turn, and its result goes into the next one behind the user's message."""
    first = client.chat.completions.create(**asked(CALL), tools=[ADD])
    (call,) = first.choices[0].message.tool_calls or []
    assert (first.choices[0].finish_reason, call.type) == ("tool_calls", "function")
    messages: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "1 and 1?"},
        first.choices[0].message.to_dict(),
        {"role": "tool", "tool_call_id": call.id, "content": "2"},
    ]
    second = client.chat.completions.create(**{**asked(["It is 2."]), "messages": messages}, tools=[ADD])
    assert second.choices[0].message.content == "It is 2."


def test_a_rejected_answer_is_filtered(client: openai.OpenAI) -> None:
    """Streamed, what was out before stays; the error is in the choice."""
    whole = client.chat.completions.create(**asked(CURSE)).choices[0]
    assert (whole.finish_reason, whole.message.content) == ("content_filter", "")
    assert (whole.model_extra or {})["error"]["type"] == "OutputRejectedError"
    chunks = list(client.chat.completions.create(**asked(CURSE), stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks).startswith("oh well,")
    assert chunks[-1].choices[0].finish_reason == "content_filter"
    assert "darn" not in str(chunks)


def test_a_blocked_message_gets_the_operators_words(client: openai.OpenAI) -> None:
    """The model is never asked."""
    whole = client.chat.completions.create(**asked(["1 2 3"], "lottery"))
    assert (whole.choices[0].message.content, whole.choices[0].finish_reason) == ("No numbers here.", "stop")
    chunks = list(client.chat.completions.create(**asked(["1 2 3"], "lottery"), stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "No numbers here."


def test_failures_are_the_sdks_own_errors(client: openai.OpenAI) -> None:
    """With a status before the first byte, and in the stream after it."""
    overloaded: list[Any] = [{"error": {"type": "Overloaded"}}]
    for stream in (False, True):
        with pytest.raises(openai.InternalServerError) as raised:
            client.chat.completions.create(**asked(overloaded), stream=stream)
        assert (raised.value.status_code, raised.value.code) == (502, "model_failed")
    late = ["A long beginning. ", {"delay_s": 1, **overloaded[0]}]
    seen: list[str] = []
    with pytest.raises(openai.APIError) as broken:  # noqa: PT012 - what came before it matters
        for chunk in client.chat.completions.create(**asked(late), stream=True):
            seen.append(chunk.choices[0].delta.content or "")  # noqa: PERF401 - it raises
    assert "".join(seen).startswith("A long")
    assert broken.value.code == "model_failed"
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(**asked(PIN), n=2)
    assert refused.value.param == "n"
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model="m", messages=[])


def test_text_that_is_taken_back_ends_the_stream(client: openai.OpenAI) -> None:
    """A second attempt begins after text was out: an OpenAI client cannot be told to drop it."""
    script = [
        {"text": "A long beginning. ", "attempt": 0},
        {"error": {"type": "Broken", "retryable": True}, "attempt": 0, "delay_s": 1},
        {"text": "Another beginning.", "attempt": 1},
    ]
    with pytest.raises(openai.APIError) as raised:
        list(client.chat.completions.create(**asked(script), stream=True))
    assert raised.value.code == "attempt_restarted"
    whole = client.chat.completions.create(**asked(script))
    assert whole.choices[0].message.content == "Another beginning."


def test_a_disconnect_ends_the_turn_if_the_request_says_so(up: Up, client: openai.OpenAI) -> None:
    """And only then."""
    script = ["A long beginning. ", {"hang": True}]
    for cancel, state in ((True, "cancelled"), (False, "running")):
        arguments = asked(script)
        arguments["extra_body"]["turngate"]["cancel_on_disconnect"] = cancel
        with client.chat.completions.with_streaming_response.create(**arguments, stream=True) as response:
            turn = response.headers["x-turngate-turn"]
            next(response.iter_bytes())
        url = f"{up.first['gateway']}/v1/turns/{turn}"
        if cancel:
            wait_for(lambda url=url: httpx.get(url).json()["state"] == "cancelled", "it was not cancelled")  # type: ignore[misc]
        assert httpx.get(url).json()["state"] == state
        httpx.delete(url)


def test_models_are_listed(client: openai.OpenAI) -> None:
    """Those that the settings name."""
    assert [model.id for model in client.models.list()] == ["default"]


def test_langchain_takes_it(base_url: str) -> None:
    """Its own client for OpenAI, streamed and not."""
    langchain = pytest.importorskip("langchain_openai")
    extra = {"turngate": {"params": {"script": PIN}}}
    chat = langchain.ChatOpenAI(base_url=base_url, api_key="unused", model="default", max_retries=0, extra_body=extra)
    assert chat.invoke("my pin?").content == MASKED
    assert "".join(piece.content for piece in chat.stream("my pin?")) == MASKED
    chat = chat.model_copy(update={"extra_body": {"turngate": {"params": {"script": CALL}}}})
    (call,) = chat.bind_tools([ADD]).invoke("1 and 1?").tool_calls
    assert (call["name"], call["args"]) == ("add", {"a": 1})


@pytest.fixture(scope="module")
def node_modules() -> Path:
    """Give a directory from which Node finds OpenAI's client; it is fetched once, where that is possible."""
    return fetched.from_npm("npm-openai", NODE_CLIENT)


def test_openais_client_for_node_takes_it(base_url: str, node_modules: Path) -> None:
    """The same answers, streamed and not, and errors of its own."""
    script = node_modules / "chat.mjs"
    script.write_text((ROOT / "tests" / "integration" / "chat.mjs").read_text())
    done = subprocess.run(
        ["node", str(script), base_url],  # noqa: S607 - whichever node is there
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "whole": MASKED,
        "streamed": MASKED,
        "rejected": "content_filter",
        "failed": {"name": "InternalServerError", "status": 502, "code": "model_failed"},
        "models": ["default"],
    }
