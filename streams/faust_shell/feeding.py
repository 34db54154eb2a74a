"""Agents that hand every record to the worker that owns its partition, and acknowledge nothing themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from streams.faust_shell.base import JournalApp
from streams.faust_shell.observer import WorkerObserver
from streams.faust_shell.watchdog import Watchdog
from streams.ports import Fatal
from streams.sources import Source
from topics import codec, names
from topics.names import Topic
from topics.trace_context import Headers, kept_of

_FULL_POLL_S = 0.02


class Worker(Protocol):
    """Who takes the records."""

    @property
    def full(self) -> bool:
        """Whether new work should wait."""

    async def deliver(self, source: Source) -> None:
        """Take a record; its `ack` is called when it need not come again."""

    async def deliver_all(self, sources: Sequence[Source]) -> None:
        """Take records of one topic and partition, as `deliver` does."""


def feed(
    app: JournalApp,
    worker: Worker,
    fatal: Fatal,
    *,
    patient: Topic,
    urgent: Sequence[Topic],
    observer: WorkerObserver | None = None,
) -> None:
    """Give `app` one agent for each topic.

    Records of the `patient` topic wait in Kafka while the worker is full. Those of the `urgent` ones never do: the work
    that makes a worker full may be waiting for them.
    """
    app.task(Watchdog(app, app.connection, fatal, observer).run)
    if observer is not None:
        app.observer = observer

    async def wait_for_room() -> None:
        # A rebalance ends the wait too: what was read must be acknowledged before partitions can move.
        # So does being told to stop. Neither has an event to wait for.
        while worker.full and not app.rebalancing and not app.should_stop:  # noqa: ASYNC110
            await asyncio.sleep(_FULL_POLL_S)

    _agent(app, worker, fatal, patient, wait_for_room)
    for topic in urgent:
        _agent(app, worker, fatal, topic, None)


def _agent(
    app: JournalApp,
    worker: Worker,
    fatal: Fatal,
    topic: Topic,
    room: Callable[[], Awaitable[None]] | None,
) -> None:
    async def take_in(stream: Any) -> None:
        try:
            async for event in stream.noack().events():
                sources = _sources(topic, event.message, event.ack)
                if room is None:
                    await worker.deliver_all(sources)
                    continue
                if worker.full:
                    await _cancels_first(worker, topic, sources)
                for source in sources:
                    await room()
                    await worker.deliver(source)
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - Faust would restart the agent, one record further on
            fatal(exc)

    app.agent(app.source(topic), name=topic.name)(take_in)


def _sources(topic: Topic, batch: Any, ack: Callable[[], object]) -> list[Source]:
    """Return the records of a batch (`transport.Batch`); acknowledging the last of them acknowledges all."""
    partition = batch.partition
    sources = [
        Source(topic, partition, one.offset, one.value, _not_yet, _seconds(one.timestamp), _headers(one.headers))
        for one in batch.records
    ]
    sources[-1].ack = ack
    return sources


def _headers(headers: Sequence[Any]) -> Headers:
    return kept_of(headers) if headers else ()


def _seconds(timestamp: int) -> float | None:
    """Return the time of a timestamp of Kafka's, whose word for none is -1."""
    return timestamp / 1000.0 if timestamp >= 0 else None


async def _cancels_first(worker: Worker, topic: Topic, sources: Sequence[Source]) -> None:
    """Hand on a batch's cancels before their turn: they are what can make room. They come again, and change nothing."""
    for source in sources:
        if topic is names.REQUESTS and codec.is_cancel(source.value):
            await worker.deliver(replace(source, ack=_not_yet, written_at=None))


def _not_yet() -> None:
    """Acknowledge nothing: a batch is acknowledged with its last record."""
