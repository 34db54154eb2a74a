"""OpenAI's endpoint while text is held, and when its client goes away; the test writes what workers would release."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from streams.gateway.ids import public_id
from tests.brokers.broker import Broker
from tests.streams.gateway.server import LIMIT_S, Served, Worker, answer, serving
from tests.streams.gateway.test_server import requests
from topics.ids import TurnKey
from topics.records import BlockedFrame, CancelTurn, FailedFrame, ReleasedFrame, TextFrame

pytestmark = pytest.mark.only_brokers("embedded")

TURN = TurnKey("default", "t", "one")
IDS = TURN._asdict()


def asked(*, stream: bool, turn: TurnKey = TURN, cancel: bool = False) -> dict[str, object]:
    """Return the body of a request."""
    more = {"thread_id": turn.thread_id, "turn_id": turn.turn_id, "cancel_on_disconnect": cancel}
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": stream, "turngate": more}


async def answered(served: Served, worker: Worker, frames: list[ReleasedFrame], *, stream: bool) -> httpx.Response:
    """Ask, let text be held for longer than the gateway waits before it begins a stream, and return the answer."""
    asking = asyncio.create_task(served.http.post("/v1/chat/completions", json=asked(stream=stream)))
    await asyncio.sleep(0.8)
    await worker.release(*frames)
    async with asyncio.timeout(LIMIT_S):
        return await asking


def data_of(response: httpx.Response) -> list[str]:
    """Return the data of a stream's events."""
    return [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]


async def test_comments_keep_a_stream_alive_while_text_is_held(broker: Broker, prefix: str) -> None:
    """The role goes out first, then nothing but comments, then all of it."""
    async with serving(broker.bootstrap, prefix, gateway_keep_alive_s=0.1) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        response = await answered(served, worker, answer(TURN, ["Hello ", "you."]), stream=True)
        assert response.text.count(": still here") >= 2
        *chunks, done = data_of(response)
        deltas = [json.loads(chunk)["choices"][0]["delta"] for chunk in chunks]
        assert "".join(delta.get("content", "") for delta in deltas) == "Hello you."
        assert done == "[DONE]"
        assert response.headers["x-turngate-turn"] == public_id(TURN)


async def test_a_failure_after_the_stream_began_is_an_event(broker: Broker, prefix: str) -> None:
    """Though no text was sent, the status was; there is no end that clients would take for a good one."""
    end = FailedFrame(**IDS, error="ModelFailedError", message="look there")
    async with serving(broker.bootstrap, prefix, gateway_keep_alive_s=0.1) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        response = await answered(served, worker, [end], stream=True)
        last = data_of(response)[-1]
        assert (response.status_code, json.loads(last)["error"]["code"]) == (200, "model_failed")


async def test_a_failure_before_that_is_a_status(broker: Broker, prefix: str) -> None:
    """With what clients need to know whether to try again."""
    end = FailedFrame(**IDS, error="ProcessorFailedError", message="look there")
    async with serving(broker.bootstrap, prefix) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        for stream in (True, False):
            response = await answered(served, worker, [end], stream=stream)
            assert (response.status_code, response.json()["error"]["code"]) == (500, "processor_failed")
            assert response.headers["x-should-retry"] == "false"


async def test_an_empty_block_is_named_to_a_client_that_does_not_stream(broker: Broker, prefix: str) -> None:
    """With no text."""
    end = BlockedFrame(**IDS, response="", processor="hours", code="preprocessor_blocked")
    async with serving(broker.bootstrap, prefix) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        (choice,) = (await answered(served, worker, [end], stream=False)).json()["choices"]
        assert (choice["message"]["content"], choice["error"]["code"]) == ("", "preprocessor_blocked")
        state = (await served.http.get(f"/v1/turns/{public_id(TURN)}")).json()
        assert (state["state"], state["reply"], state["end"]["code"]) == ("blocked", "", "preprocessor_blocked")


async def test_text_that_disagrees_ends_the_answer(broker: Broker, prefix: str) -> None:
    """As an error, streamed or not."""
    frames: list[ReleasedFrame] = [TextFrame(**IDS, text="one"), TextFrame(**IDS, text="two")]
    async with serving(broker.bootstrap, prefix) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        response = await answered(served, worker, frames, stream=False)
        assert (response.status_code, response.json()["error"]["code"]) == (500, "contradicted")


async def test_who_goes_away_cancels_only_if_the_request_said_so(broker: Broker, prefix: str) -> None:
    """Also one that waits for a whole answer, and one that has not been sent anything yet."""
    async with serving(broker.bootstrap, prefix, gateway_keep_alive_s=0.2) as served:
        for stream in (True, False):
            for cancel in (True, False):
                turn = TurnKey("default", f"stream-{stream}", f"cancel-{cancel}")
                body = asked(stream=stream, turn=turn, cancel=cancel)
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(served.http.post("/v1/chat/completions", json=body), 0.7)
        await asyncio.sleep(2.0)
        cancelled = {one.turn for one in await requests(broker, prefix) if isinstance(one, CancelTurn)}
    assert {(turn.thread_id, turn.turn_id) for turn in cancelled} == {
        ("stream-True", "cancel-True"),
        ("stream-False", "cancel-True"),
    }


async def test_streams_end_when_the_gateway_is_told_to_stop(broker: Broker, prefix: str) -> None:
    """A reader goes on elsewhere; whoever waits for an answer is told that there is none."""
    async with serving(broker.bootstrap, prefix) as other:
        async with serving(broker.bootstrap, prefix) as served:
            worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
            frames = answer(TURN, ["Hello ", "you."])
            await worker.release(frames[0])
            http = httpx.AsyncClient(base_url=served.url, timeout=LIMIT_S)
            mine = Served(served.settings, http)
            first = await mine.events(public_id(TURN), most=1)
            reading = asyncio.create_task(mine.events(public_id(TURN), first[-1].id))
            waiting = asyncio.create_task(http.post("/v1/chat/completions", json=asked(stream=False)))
            await asyncio.sleep(0.5)
        assert await reading == []
        assert (await waiting).json()["error"]["code"] == "no_answer"
        await http.aclose()
        await worker.release(*frames[1:])
        rest = await other.events(public_id(TURN), first[-1].id)
        assert [event.name for event in rest] == ["text", "completed"]
