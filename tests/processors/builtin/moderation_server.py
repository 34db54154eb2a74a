"""A local HTTP server that moderates as OpenAI-compatible servers do: what contains `bad` is flagged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Respond = Callable[[dict[str, Any]], Awaitable[web.StreamResponse]]


def scores(**scores: float) -> dict[str, Any]:
    """Return the body of an answer of the moderations endpoint; from a half on a category is flagged."""
    categories = {name: score >= 0.5 for name, score in scores.items()}
    result = {"flagged": any(categories.values()), "categories": categories, "category_scores": scores}
    return {"id": "modr-1", "model": "test-moderation", "results": [result]}


def said(content: str, **fields: Any) -> dict[str, Any]:
    """Return the body of an answer of a chat model."""
    message = {"role": "assistant", "content": content, "refusal": None} | fields.pop("message", {})
    return {"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"} | fields]}


def verdict(*categories: str, flagged: bool | None = None) -> str:
    """Return what a chat model is to say."""
    return json.dumps({"flagged": bool(categories) if flagged is None else flagged, "categories": list(categories)})


@dataclass
class ModerationServer:
    """Answers with `respond`, and keeps what it was asked."""

    respond: Respond
    base_url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def texts(self) -> list[str]:
        """What the moderations endpoint was shown."""
        return [one["input"] for one in self.asked]

    async def handle(self, http: web.Request) -> web.StreamResponse:
        """Serve one request."""
        body: dict[str, Any] = await http.json()
        self.asked.append(body)
        self.headers.append(dict(http.headers))
        try:
            return await self.respond(body)
        except asyncio.CancelledError:
            self.left.set()
            raise


async def by_word(body: dict[str, Any]) -> web.Response:
    """Judge by whether `bad` is in the text."""
    if "input" in body:
        return web.json_response(scores(hate=0.9 if "bad" in body["input"] else 0.1, violence=0.2))
    text = json.loads(body["messages"][-1]["content"])["text"]
    return web.json_response(said(verdict("hate") if "bad" in text else verdict()))


def always(body: Any, status: int = 200) -> Respond:
    """Answer everything with the same JSON, or text."""

    async def respond(_: dict[str, Any]) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(text=text, status=status, content_type="application/json")

    return respond


async def never(_: dict[str, Any]) -> web.Response:
    """Answer nothing."""
    await asyncio.Event().wait()
    raise AssertionError


@asynccontextmanager
async def moderation_server() -> AsyncIterator[ModerationServer]:
    """Run a server on a free port of the loopback interface."""
    server = ModerationServer(by_word)
    app = web.Application()
    app.router.add_post("/v1/moderations", server.handle)
    app.router.add_post("/v1/chat/completions", server.handle)
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
