"""The `openai` adapter against a server that speaks the real protocol."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

import pytest

from streams.models.delta import Delta
from streams.models.errors import AdapterMissingError
from streams.models.openai import OpenAIAdapter, OpenAISettings
from tests.streams.models.model_server import Exchange, ModelServer, chunk, envelope, never, usage_chunk
from tests.streams.models.requests import answer, request, text_of
from topics.content import Usage
from topics.records import ModelError, ToolCallDelta

USAGE = Usage(prompt_tokens=7, completion_tokens=3, total_tokens=10)


async def test_an_answer_is_read_with_its_usage_in_the_finish(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """Content comes as it is sent; the finish waits for the usage that comes after it."""

    async def speak(exchange: Exchange) -> None:
        await exchange.send(chunk({"role": "assistant", "content": "", "refusal": None}))
        await exchange.send(chunk({"content": "Hello"}), chunk({"content": ", wörld 🙂"}))
        await exchange.write(": a comment that keeps the connection alive\n\n")
        await exchange.send(chunk(finish="stop"), usage_chunk(7, 3))
        await exchange.done()

    server.answer = speak

    assert await answer(adapter, request()) == [
        Delta(text="Hello"),
        Delta(text=", wörld 🙂"),
        Delta(finish_reason="stop", usage=USAGE),
    ]


async def test_the_request_asks_for_a_stream_of_one_answer_with_usage(
    server: ModelServer, adapter: OpenAIAdapter
) -> None:
    """What goes over the wire is the request's prompt and params, and what the adapter needs to be told."""
    await answer(adapter, request(params={"temperature": 0, "top_k": 5}))

    assert server.asked == [
        {
            "model": "default-model",
            "messages": [{"role": "user", "content": "hello"}],
            "n": 1,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0,
            "top_k": 5,
        }
    ]
    assert server.headers[0]["Authorization"] == "Bearer secret"


async def test_the_environment_of_the_sdk_is_not_used(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key or an organisation that lies around in the environment goes to no server that turngate is pointed at."""
    monkeypatch.setenv("OPENAI_API_KEY", "stray-key")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "stray-admin-key")
    monkeypatch.setenv("OPENAI_ORG_ID", "stray-organisation")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "stray-project")
    adapter = OpenAIAdapter(OpenAISettings(base_url=server.base_url, model="m"))

    await answer(adapter, request())
    await adapter.close()

    assert [value for value in server.headers[0].values() if "stray" in value] == []


async def test_tool_calls_are_read_in_the_pieces_they_come_in(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """Two calls whose pieces share chunks come out as one delta for each piece."""

    async def call_tools(exchange: Exchange) -> None:
        first = {"index": 0, "id": "a", "type": "function", "function": {"name": "add", "arguments": ""}}
        second = {"index": 1, "id": "b", "type": "function", "function": {"name": "sub", "arguments": "{}"}}
        await exchange.send(
            chunk({"role": "assistant", "content": None, "tool_calls": [first]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"x":'}}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}, second]}),
            chunk(finish="tool_calls"),
            usage_chunk(7, 3),
        )
        await exchange.done()

    server.answer = call_tools

    assert await answer(adapter, request()) == [
        Delta(tool_call_delta=ToolCallDelta(index=0, id="a", name="add")),
        Delta(tool_call_delta=ToolCallDelta(index=0, arguments='{"x":')),
        Delta(tool_call_delta=ToolCallDelta(index=0, arguments="1}")),
        Delta(tool_call_delta=ToolCallDelta(index=1, id="b", name="sub", arguments="{}")),
        Delta(finish_reason="tool_calls", usage=USAGE),
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_and_refusal_keep_their_own_fields(
    server: ModelServer, adapter: OpenAIAdapter, field: str
) -> None:
    """Neither ends up in the text; both spellings of reasoning are known."""

    async def refuse(exchange: Exchange) -> None:
        await exchange.send(chunk({field: "thinking"}), chunk({"refusal": "no"}), chunk(finish="content_filter"))
        await exchange.done()

    server.answer = refuse

    assert await answer(adapter, request()) == [
        Delta(reasoning="thinking"),
        Delta(refusal="no"),
        Delta(finish_reason="content_filter"),
    ]


@pytest.mark.parametrize(
    ("status", "name", "retryable"),
    [
        (400, "BadRequestError", False),
        (401, "AuthenticationError", False),
        (402, "APIStatusError", False),
        (403, "PermissionDeniedError", False),
        (404, "NotFoundError", False),
        (408, "APIStatusError", True),
        (409, "ConflictError", True),
        (422, "UnprocessableEntityError", False),
        (429, "RateLimitError", True),
        (500, "InternalServerError", True),
        (501, "InternalServerError", False),
        (503, "InternalServerError", True),
        (529, "InternalServerError", True),
    ],
)
async def test_an_error_status_becomes_an_error_and_is_not_retried_here(
    server: ModelServer, adapter: OpenAIAdapter, status: int, name: str, retryable: bool
) -> None:
    """The error carries the provider's wording and whether it may pass; the server is asked once."""
    server.answer = lambda exchange: exchange.fail(status, {"message": "what the provider says", "type": "t"})

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == (name, retryable)
    assert delta.error.retry_after_s is None
    assert "what the provider says" in (delta.error.message or "")
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "headers", "wait"),
    [
        (429, {"Retry_After": "7"}, 7.0),
        (503, {"Retry_After": "7"}, 7.0),
        (429, {"Retry_After": "0.25"}, 0.25),
        (429, {"Retry_After": "7", "retry_after_ms": "1500"}, 1.5),
        (429, {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1m30s"}, 90.0),
        (503, {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1m30s"}, None),
        (429, {"Retry_After": "a while"}, None),
        (500, {"Retry_After": "7"}, None),
        (400, {"Retry_After": "7"}, None),
    ],
)
async def test_the_wait_that_a_server_asks_for_is_passed_on(
    server: ModelServer, adapter: OpenAIAdapter, status: int, headers: dict[str, str], wait: float | None
) -> None:
    """With the refusals that are about waiting; nothing is waited for here."""
    server.answer = lambda exchange: exchange.fail(status, {"message": "slow down"}, **headers)

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert delta.error.retry_after_s == wait
    assert len(server.asked) == 1


async def test_a_date_to_wait_for_counts_from_the_server_s_own_time(
    server: ModelServer, adapter: OpenAIAdapter
) -> None:
    """Whatever ours is."""
    server.answer = lambda exchange: exchange.fail(
        429,
        {"message": "slow down"},
        Date="Wed, 21 Oct 2015 07:28:00 GMT",
        Retry_After="Wed, 21 Oct 2015 07:28:45 GMT",
    )

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert delta.error.retry_after_s == 45


async def test_a_spent_quota_is_no_passing_error(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """Its status is that of a limit which is met again and again, however long one waits."""
    server.answer = lambda exchange: exchange.fail(
        429, {"message": "pay", "code": "insufficient_quota"}, Retry_After="1"
    )

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert (delta.error.retryable, delta.error.retry_after_s) == (False, None)


@pytest.mark.parametrize(
    ("status", "said", "retryable"), [(500, "false", False), (400, "true", True), (500, "perhaps", True)]
)
async def test_a_server_that_says_whether_to_try_again_is_believed(
    server: ModelServer, adapter: OpenAIAdapter, status: int, said: str, retryable: bool
) -> None:
    """It knows better than its status tells."""
    server.answer = lambda exchange: exchange.fail(status, {"message": "m"}, x_should_retry=said)

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert delta.error.retryable is retryable


@pytest.mark.parametrize(
    ("status", "provider"),
    [(400, "up"), (401, "up"), (404, "up"), (408, "up"), (429, "up"), (500, "down"), (501, "up"), (503, "down")],
)
async def test_an_error_tells_whether_the_provider_is_down(
    server: ModelServer, adapter: OpenAIAdapter, status: int, provider: str
) -> None:
    """Who answers that a request is wrong, or too much, is there."""
    server.answer = lambda exchange: exchange.fail(status, {"message": "m"})

    [delta] = await answer(adapter, request())

    assert delta.provider == provider


@pytest.mark.parametrize(
    ("error", "retryable", "provider"),
    [
        ({"type": "server_error"}, True, "down"),
        ({"code": 502}, True, "down"),
        ({"code": "429"}, True, "up"),
        ({"type": "overloaded_error"}, True, "up"),
        ({"type": "invalid_request_error"}, False, "up"),
        ({"type": "tokens", "code": "insufficient_quota"}, False, "up"),
        ({"code": 401}, False, "up"),
    ],
)
async def test_an_error_inside_the_stream_tells_the_same(
    server: ModelServer, adapter: OpenAIAdapter, error: dict[str, object], retryable: bool, provider: str
) -> None:
    """By its code, where that is a status, or by its type."""
    server.answer = lambda exchange: exchange.send({"error": {"message": "m"} | error})

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert (delta.error.retryable, delta.provider) == (retryable, provider)


async def test_a_connection_cut_in_mid_stream_is_a_passing_error(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """What came before the cut is kept, and the end is an error that a new attempt may mend."""

    async def cut(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hel"}))
        await asyncio.sleep(0.05)
        exchange.cut()

    server.answer = cut

    deltas = await answer(adapter, request())

    assert text_of(deltas) == "Hel"
    assert deltas[-1].error is not None
    assert deltas[-1].error.retryable
    assert deltas[-1].provider == "down"


async def test_a_connection_cut_after_the_finish_loses_nothing(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """The answer is whole once the finish is there; only its usage is missing."""

    async def cut(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hello"}), chunk(finish="stop"))
        await asyncio.sleep(0.05)
        exchange.cut()

    server.answer = cut

    assert await answer(adapter, request()) == [Delta(text="Hello"), Delta(finish_reason="stop")]


async def test_a_stream_without_a_finish_is_a_passing_error(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """`[DONE]` alone does not make an answer whole."""

    async def stop_short(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hel"}), usage_chunk(7, 3))
        await exchange.done()

    server.answer = stop_short

    text, last = await answer(adapter, request())

    assert text == Delta(text="Hel")
    assert last.usage == USAGE
    assert last.error is not None
    assert (last.error.type, last.error.retryable) == ("UnfinishedStreamError", True)


async def test_an_error_inside_the_stream_ends_it(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """A server that fails after its 200 says so in an event; what it counted by then is kept."""

    async def fail(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hel"}, usage={"prompt_tokens": 7, "completion_tokens": 3}))
        await exchange.send({"error": {"message": "overloaded", "type": "server_error", "code": 503}})

    server.answer = fail

    assert await answer(adapter, request()) == [
        Delta(text="Hel"),
        Delta(usage=USAGE, error=ModelError(type="APIError", message="overloaded", retryable=True)),
    ]


async def test_an_error_inside_the_stream_after_the_finish_is_still_an_error(
    server: ModelServer, adapter: OpenAIAdapter
) -> None:
    """The server's own word that the answer failed outweighs the finish it sent before."""

    async def fail(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hel"}), chunk(finish="error"), {"error": {"message": "m", "code": 400}})

    server.answer = fail

    last = (await answer(adapter, request()))[-1]

    assert last.error == ModelError(type="APIError", message="m", retryable=False)


@pytest.mark.parametrize("garbage", ["data: {not json}\n\n", 'data: {"choices": "none"}\n\n'])
async def test_a_chunk_that_is_not_of_the_protocol_is_a_passing_error_without_its_content(
    server: ModelServer, adapter: OpenAIAdapter, garbage: str
) -> None:
    """What cannot be read is not quoted."""
    server.answer = lambda exchange: exchange.write(garbage)

    [delta] = await answer(adapter, request())

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == ("MalformedStreamError", True)
    assert "not json" not in (delta.error.message or "")


async def test_chunks_that_say_nothing_are_passed_over(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """Null events, chunks without choices, choices without a delta and second choices add nothing to the answer."""

    async def speak(exchange: Exchange) -> None:
        second = {"index": 1, "delta": {"content": "another answer"}, "finish_reason": "length"}
        await exchange.send(None, {}, envelope(choices=[]), envelope(choices=[{"index": 0, "delta": None}]))
        await exchange.send(envelope(choices=[second]), chunk({"content": "x"}), chunk(finish="stop"))
        await exchange.done()

    server.answer = speak

    assert await answer(adapter, request()) == [Delta(text="x"), Delta(finish_reason="stop")]


async def test_a_silent_server_is_a_passing_error(server: ModelServer) -> None:
    """Longer silence than the read timeout ends the call."""
    server.answer = never
    adapter = OpenAIAdapter(OpenAISettings(base_url=server.base_url, model="m", read_timeout_s=0.1))

    [delta] = await answer(adapter, request())
    await adapter.close()

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == ("APITimeoutError", True)
    assert delta.provider == "down"


async def test_a_server_that_is_not_there_is_a_passing_error(unused_tcp_port: int) -> None:
    """No connection, no answer, and a new attempt may find one."""
    adapter = OpenAIAdapter(OpenAISettings(base_url=f"http://127.0.0.1:{unused_tcp_port}/v1", model="m"))

    [delta] = await answer(adapter, request())
    await adapter.close()

    assert delta.error is not None
    assert (delta.error.type, delta.error.retryable) == ("APIConnectionError", True)
    assert delta.provider == "down"


async def test_a_server_that_never_closes_delays_the_finish_only_so_long(server: ModelServer) -> None:
    """Waiting for a usage that never comes ends by itself."""

    async def hang(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "x"}), chunk(finish="stop"))
        await asyncio.Event().wait()

    server.answer = hang
    adapter = OpenAIAdapter(OpenAISettings(base_url=server.base_url, model="m", usage_wait_s=0.05))

    assert await answer(adapter, request()) == [Delta(text="x"), Delta(finish_reason="stop")]
    await asyncio.wait_for(server.disconnected.wait(), 10)
    await adapter.close()


async def test_cancelling_in_mid_stream_closes_the_connection(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """The server sees its client go and can stop generating."""

    async def trickle(exchange: Exchange) -> None:
        while True:
            await exchange.send(chunk({"content": "."}))
            await asyncio.sleep(0.01)

    server.answer = trickle
    stream = adapter.stream(request())
    assert await anext(stream) == Delta(text=".")

    async def read_on() -> None:
        async for _ in stream:
            pass

    reader = asyncio.create_task(read_on())
    await asyncio.sleep(0.05)
    reader.cancel()
    await asyncio.wait([reader])

    await asyncio.wait_for(server.disconnected.wait(), 10)


async def test_closing_the_stream_closes_the_connection(server: ModelServer, adapter: OpenAIAdapter) -> None:
    """A reader that has heard enough need not cancel anything."""

    async def pause(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "."}))
        await asyncio.Event().wait()

    server.answer = pause
    stream = adapter.stream(request())
    await anext(stream)
    await stream.aclose()

    await asyncio.wait_for(server.disconnected.wait(), 10)


async def test_cancelling_before_the_first_byte_closes_the_connection(
    server: ModelServer, adapter: OpenAIAdapter
) -> None:
    """A model that still thinks is stopped as well."""
    server.answer = never
    reader = asyncio.create_task(answer(adapter, request()))
    await asyncio.wait_for(server.began.wait(), 10)
    reader.cancel()
    await asyncio.wait([reader])

    await asyncio.wait_for(server.disconnected.wait(), 10)


async def test_a_request_that_may_not_be_sent_is_answered_without_asking_the_server(
    server: ModelServer, adapter: OpenAIAdapter
) -> None:
    """Params that would change what the model is asked are refused by name."""
    [delta] = await answer(adapter, request(params={"messages": []}))

    assert delta.error is not None
    assert delta.error.type == "InvalidParamsError"
    assert "params.messages" in (delta.error.message or "")
    assert server.asked == []


async def test_extra_params_reach_the_server_where_the_operator_allows_them(server: ModelServer) -> None:
    """Names that only this server knows are the operator's to allow."""
    settings = OpenAISettings(base_url=server.base_url, model="m")
    asked = request(params={"mirostat": 2})
    strict = OpenAIAdapter(settings)
    lenient = OpenAIAdapter(replace(settings, extra_params=frozenset({"mirostat"})))

    [refusal] = await answer(strict, asked)
    await answer(lenient, asked)
    await strict.close()
    await lenient.close()

    assert refusal.error is not None
    assert [body["mirostat"] for body in server.asked] == [2]


def test_a_missing_sdk_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has not installed the extra is told which."""
    monkeypatch.setitem(sys.modules, "openai", None)

    with pytest.raises(AdapterMissingError, match=r"turngate\[openai\]"):
        OpenAIAdapter(OpenAISettings(api_key="k"))


def test_settings_do_not_show_their_key() -> None:
    """A settings object may end up in a log."""
    assert "secret" not in repr(OpenAISettings(api_key="secret"))
