"""The worker's ports on Kafka: sending through Faust's producer, and reading single records back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import aiokafka
import faust
from aiokafka.errors import UnknownError

from streams.journal.writer import JournalLog
from topics.connection import Connection
from topics.trace_context import Headers

_READ_TIMEOUT_S = 15.0


async def takes_idempotent_producers(connection: Connection) -> bool:
    """Return whether the brokers can tell a producer's retry from a new record; the embedded one cannot."""
    complaints = logging.getLogger("aiokafka.producer.sender")
    producer = aiokafka.AIOKafkaProducer(**connection.arguments(), acks="all", enable_idempotence=True)
    try:
        complaints.disabled = True  # a "no" is an answer here, not an error
        await producer.start()
    except UnknownError:
        return False
    finally:
        complaints.disabled = False
        await producer.stop()
    return True


class FaustProducer:
    """Sends records through the producer of a Faust app, each with a future of its own."""

    def __init__(self, app: faust.App) -> None:
        self._app = app

    async def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> asyncio.Future[int]:
        """Hand a record to the producer; the future gives its offset once the broker has acknowledged it."""
        metadata: Any = await self._app.producer.send(
            topic, key, value, partition, None, list(headers) if headers else None
        )
        offset: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        metadata.add_done_callback(lambda done: _pass_on(done, offset))
        return offset


def _pass_on(done: asyncio.Future[Any], offset: asyncio.Future[int]) -> None:
    if offset.cancelled():
        return
    if done.cancelled():
        offset.cancel()
    elif (error := done.exception()) is not None:
        offset.set_exception(error)
    else:
        offset.set_result(done.result().offset)


class KafkaReader:
    """Reads records by their place, with a consumer that belongs to no group."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def fetch(self, topic: str, partition: int, offset: int) -> bytes | None:
        """Return the value of one record, None if it is gone."""
        # A batch always comes whole: a byte is room for one, and the next megabyte need not be read to be thrown away.
        for found, _, value in await self.read(topic, partition, offset, offset + 1, max_partition_fetch_bytes=1):
            if found == offset:
                return value
        return None

    async def read(
        self, topic: str, partition: int, start: int, stop: int, **options: Any
    ) -> Sequence[tuple[int, bytes, bytes | None]]:
        """Return the records with offsets in [`start`, `stop`) that are still there; `options` are a consumer's.

        Raises:
            TimeoutError: the partition's end is before `stop` and stays there.
        """
        place = aiokafka.TopicPartition(topic, partition)
        found: list[tuple[int, bytes, bytes | None]] = []
        async with self._connection.consumer(**options) as consumer, asyncio.timeout(_READ_TIMEOUT_S):
            consumer.assign([place])
            consumer.seek(place, start)
            position = start
            while position < stop:
                batches = await consumer.getmany(place, timeout_ms=200)
                found += (
                    (one.offset, one.key or b"", one.value) for one in batches.get(place, ()) if one.offset < stop
                )
                position = await consumer.position(place)
        return found


class KafkaLogs:
    """The journal's partitions (`streams.turns.worker.Logs`)."""

    def __init__(self, topic: str, producer: FaustProducer, reader: KafkaReader) -> None:
        self.topic = topic
        self._producer = producer
        self._reader = reader

    def partition(self, partition: int) -> JournalLog:
        """Return the log of one partition."""
        return _PartitionLog(self.topic, partition, self._producer, self._reader)


class _PartitionLog:
    def __init__(self, topic: str, partition: int, producer: FaustProducer, reader: KafkaReader) -> None:
        self._topic = topic
        self._partition = partition
        self._producer = producer
        self._reader = reader

    async def send(self, key: bytes, value: bytes | None) -> asyncio.Future[int]:
        return await self._producer.send(self._topic, self._partition, key, value)

    async def read(self, start: int, stop: int) -> Sequence[tuple[int, bytes, bytes | None]]:
        return await self._reader.read(self._topic, self._partition, start, stop)
