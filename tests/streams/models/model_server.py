"""A local HTTP server that speaks chat completions as server-sent events, byte for byte as a model server does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from aiohttp import web

Answer: TypeAlias = Callable[["Exchange"], Awaitable[None]]


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a chunk with one choice."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "logprobs": None, "finish_reason": finish}
    return envelope(choices=[choice], **fields)


def usage_chunk(prompt: int, completion: int) -> dict[str, Any]:
    """Return the chunk of usage, which has no choices."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return envelope(choices=[], usage=usage)


def envelope(**fields: Any) -> dict[str, Any]:
    """Return a chunk with these fields."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "test-model"}
    return base | {"usage": None} | fields


class Exchange:
    """One request and the response to it, as the server sees them."""

    def __init__(self, http: web.Request, body: dict[str, Any]) -> None:
        self.http = http
        self.body = body
        self.response: web.StreamResponse | None = None

    async def begin(self) -> web.StreamResponse:
        """Send the head of an event stream."""
        self.response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await self.response.prepare(self.http)
        return self.response

    async def write(self, text: str) -> None:
        """Send `text` as it is."""
        response = self.response or await self.begin()
        await response.write(text.encode())

    async def send(self, *chunks: Any) -> None:
        """Send each chunk as one event."""
        for each in chunks:
            await self.write(f"data: {json.dumps(each)}\n\n")

    async def done(self) -> None:
        """Send what ends a stream."""
        await self.write("data: [DONE]\n\n")

    async def fail(self, status: int, error: dict[str, Any], **headers: str) -> None:
        """Answer with a status and an error in JSON instead of a stream; `_` in names of headers stands for `-`."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = web.json_response({"error": error}, status=status, headers=sent)

    def cut(self) -> None:
        """Break the connection in the middle of the response."""
        assert self.http.transport is not None
        self.http.transport.abort()


class ModelServer:
    """Answers `POST /v1/chat/completions` with `answer`, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = finish_at_once
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.began = asyncio.Event()
        self.disconnected = asyncio.Event()
        self.base_url = ""

    async def handle(self, http: web.Request) -> web.StreamResponse:
        """Serve one request."""
        exchange = Exchange(http, await http.json())
        self.asked.append(exchange.body)
        self.headers.append(dict(http.headers))
        self.began.set()
        try:
            await self.answer(exchange)
        except asyncio.CancelledError:
            self.disconnected.set()
            raise
        assert exchange.response is not None
        return exchange.response


async def finish_at_once(exchange: Exchange) -> None:
    """Say one word and finish."""
    await exchange.send(chunk({"role": "assistant", "content": "hi"}), chunk(finish="stop"))
    await exchange.done()


async def never(_: Exchange) -> None:
    """Say nothing, not even the head of a response."""
    await asyncio.Event().wait()


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """Run a server on a free port of the loopback interface."""
    server = ModelServer()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.handle)
    # Handlers are cancelled when their client is gone: that is how the server knows.
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.base_url = f"http://{host}:{port}/v1"
        yield server
    finally:
        await runner.cleanup()
