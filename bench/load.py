"""Load and readers, made light: on two cores whoever measures must not be what is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from bench.frames import PARTITIONS, Frame
from bench.processes import Running
from bench.rounds import FailedError
from topics.connection import Connection

_POLL_MS = 50
#: Quix Streams looks these up and derives its changelog's from them; the embedded broker only knows what it was told.
_SPELT_OUT = {"retention.ms": "604800000", "retention.bytes": "-1", "cleanup.policy": "delete"}


@asynccontextmanager
async def producing(bootstrap: str, **options: Any) -> AsyncIterator[AIOKafkaProducer]:
    """Yield a producer whose records are acknowledged by all replicas."""
    async with Connection(bootstrap).producer(max_batch_size=1 << 18, **options) as producer:
        yield producer


@asynccontextmanager
async def reading(
    bootstrap: str, topic: str, fetch_wait_ms: int = _POLL_MS, partitions: int = PARTITIONS
) -> AsyncIterator[AIOKafkaConsumer]:
    """Yield a consumer of all `partitions` of `topic`, from their beginning.

    `fetch_wait_ms` matters on the embedded broker, which does not wake a waiting fetch when a record comes.
    """
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=fetch_wait_ms,
        max_poll_records=20_000,
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        await consumer.seek_to_beginning()
        yield consumer
    finally:
        await consumer.stop()


async def create_topics(bootstrap: str, names: Sequence[str]) -> None:
    """Create topics of as many partitions as every contender's have."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, PARTITIONS, 1, topic_configs=_SPELT_OUT) for name in names])
    finally:
        await admin.close()


class Batches:
    """Frames as batches that are ready to be sent: nothing is encoded while somebody is measured."""

    def __init__(self, producer: AIOKafkaProducer, frames: Iterable[Frame]) -> None:
        self.frames = 0
        self._producer = producer
        self._ready: list[tuple[int, Any]] = []
        filling: dict[int, Any] = {}
        for frame in frames:
            self.frames += 1
            batch = filling.get(frame.partition)
            if batch is None or batch.append(key=frame.key, value=frame.value, timestamp=None) is None:
                batch = filling[frame.partition] = producer.create_batch()
                self._ready.append((frame.partition, batch))
                batch.append(key=frame.key, value=frame.value, timestamp=None)

    async def send(self, topic: str) -> None:
        """Send all of them, and return once the broker has them."""
        sent = [await self._producer.send_batch(batch, topic, partition=number) for number, batch in self._ready]
        await asyncio.gather(*sent)


async def wait_for(
    consumer: AIOKafkaConsumer,
    wanted: int,
    process: Running,
    counts: Callable[[Any], int] | None = None,
    *,
    quiet_s: float = 60.0,
) -> None:
    """Read `wanted` records, or until what `counts` makes of them adds up to that; `process` is who writes them.

    Raises:
        FailedError: the process ended, or nothing came for `quiet_s` seconds.
    """
    quiet_since = time.monotonic()
    while wanted > 0:
        found = await consumer.getmany(timeout_ms=_POLL_MS)
        for records in found.values():
            wanted -= len(records) if counts is None else sum(map(counts, records))
            quiet_since = time.monotonic()
        if not found:
            process.check()
        if time.monotonic() - quiet_since > quiet_s:
            raise FailedError(f"{wanted} records are missing, and nothing came for {quiet_s:g} s")
