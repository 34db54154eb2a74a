"""The whole pipeline with a real HTTP server that speaks chat completions as the provider."""

from __future__ import annotations

from pathlib import Path

from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.streams.models.model_server import Exchange, chunk, model_server, usage_chunk
from topics.records import CompletedFrame


async def test_an_answer_from_a_server_is_gated(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """The server sees the masked prompt; the reader sees the redacted answer, the finish and the provider's usage."""

    async def answer(exchange: Exchange) -> None:
        await exchange.send(chunk({"role": "assistant", "content": ""}))
        for piece in ("Write to ", "bob@exam", "ple.com", ", he will", " know."):
            await exchange.send(chunk({"content": piece}))
        await exchange.send(chunk({}, finish="stop"), usage_chunk(11, 7))
        await exchange.done()

    async with model_server() as server:
        server.answer = answer
        settings = {"openai_base_url": server.base_url, "openai_model": "test-model"}
        deps = "tests.integration.chains:streaming"
        async with Pipeline(broker.bootstrap, prefix, tmp_path, deps, processor_workers=1, **settings) as pipeline:
            pipeline.start("turns")
            pipeline.start("models")
            turn = await pipeline.client.submit("who owns ACCT-99?", thread_id="thread-1", system="Be kind.")
            view = (await pipeline.read([turn]))[turn]
    (asked,) = server.asked
    assert asked["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "who owns ACCT-0?"},
    ]
    assert view.text == "Write to [email], he will know."
    assert isinstance(view.terminal, CompletedFrame)
    assert view.terminal.usage is not None
    assert view.terminal.usage.total_tokens == 18
