"""Providers that ask for pauses or are down, in the whole pipeline."""

from __future__ import annotations

import urllib.request
from asyncio import to_thread
from pathlib import Path
from typing import Any

from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.streams.models.model_server import Exchange, chunk, model_server
from topics.records import CompletedFrame


async def test_a_provider_that_asks_for_a_pause_gets_it_and_is_asked_again(
    broker: Broker, prefix: str, tmp_path: Path, unused_tcp_port: int
) -> None:
    """The turn's second attempt is answered; the runner's metrics tell of both calls, and of no others."""

    async def answer(exchange: Exchange) -> None:
        if len(server.asked) == 1:
            await exchange.fail(429, {"message": "slow down"}, Retry_After="1")
            return
        await exchange.send(chunk({"content": "Here you are."}), chunk(finish="stop"))
        await exchange.done()

    async with model_server() as server:
        server.answer = answer
        settings = {"openai_base_url": server.base_url, "openai_model": "test-model"}
        async with Pipeline(broker.bootstrap, prefix, tmp_path, **settings) as pipeline:
            pipeline.start("turns")
            # Both kinds of workers serve metrics, but not on one port.
            pipeline.settings = pipeline.settings.model_copy(update={"metrics_port": unused_tcp_port})
            pipeline.start("models")
            turn = await pipeline.client.submit("hello", thread_id="thread-1")
            view = (await pipeline.read([turn]))[turn]
            shown = await to_thread(metrics_on, unused_tcp_port)
    assert isinstance(view.terminal, CompletedFrame)
    assert view.text == "Here you are."
    assert [body["model"] for body in server.asked] == ["test-model"] * 2
    assert {
        line for line in shown.splitlines() if line.startswith("turngate_provider_") and "_created" not in line
    } == {
        'turngate_provider_calls_total{provider="default",retry="no"} 1.0',
        'turngate_provider_calls_total{provider="default",retry="yes"} 1.0',
        'turngate_provider_outcomes_total{outcome="refused",provider="default"} 1.0',
        'turngate_provider_outcomes_total{outcome="answered",provider="default"} 1.0',
    }
    assert 'turngate_circuit_open{provider="default"} 0.0' in shown


def metrics_on(port: int) -> str:
    """Return what a worker on this machine shows of itself."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        text: str = response.read().decode()
        return text


async def test_where_the_first_provider_is_down_the_next_one_answers(
    broker: Broker, prefix: str, tmp_path: Path, unused_tcp_port: int
) -> None:
    """Also after the first one's circuit has opened: nobody asks it then, and the stand-in's retries are not used up."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "From the other one."}), chunk(finish="stop"))
        await exchange.done()

    async with model_server() as server:
        server.answer = answer
        settings: dict[str, Any] = {
            "openai_base_url": f"http://127.0.0.1:{unused_tcp_port}/v1",
            "openai_model": "test-model",
            "providers": {"spare": {"base_url": server.base_url, "models": ["backup"]}},
            "fallback_models": ("spare/backup",),
            "breaker_failures": 2,
            "retries_per_minute": 1,
            "retry_share": 0,
        }
        async with Pipeline(broker.bootstrap, prefix, tmp_path, **settings) as pipeline:
            pipeline.start("turns")
            pipeline.start("models")
            turns = [await pipeline.client.submit("hello", thread_id=f"thread-{number}") for number in range(8)]
            views = await pipeline.read(turns)
    assert {type(views[turn].terminal) for turn in turns} == {CompletedFrame}
    assert {views[turn].text for turn in turns} == {"From the other one."}
    assert [body["model"] for body in server.asked] == ["backup"] * len(turns)
