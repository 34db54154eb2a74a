"""Reads what traces are made of, beside `released`, which the hub reads anyway."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from streams.gateway.tail import Tail
from streams.gateway.traces import Traces
from topics import codec
from topics.errors import WireError
from topics.names import DECISIONS, FRAMES, USAGE, Names, Topic

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

    from topics.connection import Connection

log = logging.getLogger(__name__)


@asynccontextmanager
async def watching(
    connection: Connection, names: Names, partitions: int, traces: Traces, clock: Callable[[], float] = time.time
) -> AsyncIterator[None]:
    """Have `traces` told of decisions and usage since its beginning, and of models' frames from now on if it wants them."""
    tails = [
        (DECISIONS, traces.since, _each(DECISIONS, lambda decision, _: traces.take_decision(decision))),
        (USAGE, traces.since, _each(USAGE, lambda usage, _: traces.take_usage(usage))),
    ]
    if traces.watch != "off":
        # There are very many of these: a gateway that starts should not begin with reading all of them.
        tails.append((FRAMES, clock(), _each(FRAMES, traces.take_written)))
    async with AsyncExitStack() as stack:
        for topic, since, take in tails:
            await stack.enter_async_context(Tail(connection, names.topic(topic), partitions, since, take))
        yield


def _each(topic: Topic, told: Callable[[Any, float], None]) -> Callable[[ConsumerRecord], None]:
    """Return what takes a record apart and tells of it, and of when it was written in epoch seconds."""

    def take(record: ConsumerRecord) -> None:
        try:
            told(codec.decode(record.value, topic.shape), max(0.0, (record.timestamp or 0) / 1000))
        except WireError as error:
            log.warning("skipped %s/%s offset %s: %s", record.topic, record.partition, record.offset, error)

    return take
