"""A gateway that serves in the test's own event loop, on a real port, and the frames that a test writes for it to read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from streams.brokers import ports
from streams.gateway import serve
from streams.settings import Settings
from topics import codec, names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.ids import TurnKey
from topics.names import Names
from topics.records import CompletedFrame, ReleasedFrame, TextFrame, TurnRecord

LIMIT_S = 30.0


@dataclass(frozen=True)
class Sent:
    """A server-sent event as a client gets it."""

    name: str
    data: dict[str, Any]
    id: str


@dataclass
class Served:
    """A gateway that is up, and a client of it without a key."""

    settings: Settings
    http: httpx.AsyncClient

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.settings.gateway_port}"

    async def events(
        self,
        turn_id: str,
        last: str | None = None,
        *,
        most: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> list[Sent]:
        """Follow a turn to its end, or for `most` events."""
        sent = {**(headers or {}), **({} if last is None else {"Last-Event-ID": last})}
        found: list[Sent] = []
        async with (
            asyncio.timeout(LIMIT_S),
            self.http.stream("GET", f"/v1/turns/{turn_id}/events", headers=sent) as response,
        ):
            assert response.status_code == httpx.codes.OK, await response.aread()
            events = read_events(response)
            async for event in events:
                found.append(event)
                if len(found) == most:
                    break
            await events.aclose()
        return found


async def read_events(response: httpx.Response) -> AsyncGenerator[Sent, None]:
    """Yield the events of a stream; comments are passed over."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif "data" in fields:
            yield Sent(fields.get("event", ""), json.loads(fields["data"]), fields.get("id", ""))
            fields = {}
        else:
            fields = {}


@asynccontextmanager
async def serving(bootstrap: str, prefix: str, **changes: Any) -> AsyncIterator[Served]:
    """Run a gateway, open to this machine unless keys are given."""
    given: dict[str, Any] = {
        "broker": bootstrap,
        "prefix": prefix,
        "gateway_port": ports.free_port(),
        "gateway_open": "gateway_keys" not in changes,
        "gateway_requests_per_minute": 1_000_000,
        "script_enabled": True,
        **changes,
    }
    settings = Settings(**given)
    await TopicAdmin(Connection(bootstrap), Names(prefix)).create(settings.partitions, 1)
    told = asyncio.Event()
    running = asyncio.create_task(serve.run(settings, bootstrap, told))
    try:
        async with asyncio.timeout(LIMIT_S):
            while not await asyncio.to_thread(ports.is_open, settings.gateway_port):
                if running.done():
                    running.result()
                await asyncio.sleep(0.05)
        url = f"http://127.0.0.1:{settings.gateway_port}"
        async with httpx.AsyncClient(base_url=url, timeout=LIMIT_S) as http:
            yield Served(settings, http)
    finally:
        told.set()
        await running


class Worker:
    """Writes released frames as turn workers do, and what else is said of turns."""

    def __init__(self, bootstrap: str, prefix: str, partitions: int) -> None:
        self._connection = Connection(bootstrap)
        self._names = Names(prefix)
        self._partitions = partitions

    async def release(self, *frames: ReleasedFrame) -> None:
        """Publish frames, in order."""
        await self.write(names.RELEASED_FRAMES, *frames)

    async def write(self, topic: names.Topic, *records: TurnRecord) -> None:
        """Publish records of turns, in order."""
        async with self._connection.producer() as producer:
            for record in records:
                thread = record.turn.thread
                await producer.send_and_wait(
                    self._names.topic(topic),
                    codec.encode(record),
                    key=thread.encode(),
                    partition=thread.partition(self._partitions),
                )


def answer(turn: TurnKey, pieces: Iterable[str]) -> list[ReleasedFrame]:
    """Return the frames of a turn of one step that went well."""
    frames: list[ReleasedFrame] = []
    text = ""
    for piece in pieces:
        frames.append(TextFrame(**turn._asdict(), offset=len(text), text=piece))
        text += piece
    end = CompletedFrame(**turn._asdict(), offset=len(text), reply=text, length=len(text), finish_reason="stop")
    return [*frames, end]


def text_of(events: Iterable[Sent]) -> str:
    """Return what a client shows that appends texts and checks that each begins where the last one ended."""
    text = ""
    for event in events:
        if event.name == "text":
            assert event.data["offset"] == len(text)
            text += event.data["text"]
    return text
