"""The worker's ports on Kafka: sending through Faust's producer, and reading single records back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, cast

import aiokafka
import faust
from aiokafka.errors import UnknownError

from streams.faust_shell.transport import Producer
from streams.journal.runs import Handed, Run
from streams.journal.writer import JournalLog
from topics.connection import Connection
from topics.producing import BatchingProducer
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
    """Sends records through the producer of a Faust app (`streams.ports.Producer`)."""

    def __init__(self, app: faust.App) -> None:
        self._app = app

    async def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> asyncio.Future[int]:
        """Hand a record to the producer; the future gives its offset once the broker has acknowledged it."""
        return _offset(
            await self._app.producer.send(topic, key, value, partition, None, list(headers) if headers else None)
        )

    async def send_all(self, topic: str, partition: int, records: Sequence[Handed]) -> Sequence[Run]:
        """Hand records to the producer in as few batches as they fit into; each batch is a run, with one future."""
        return await _all(cast("Producer", self._app.producer).client, topic, partition, records)


class JournalProducer:
    """Sends the records of journals, with the client that a Faust app has for them."""

    def __init__(self, app: faust.App) -> None:
        self._app = app

    async def send_all(self, topic: str, partition: int, records: Sequence[Handed]) -> Sequence[Run]:
        """Hand records to the producer in as few batches as they fit into; each batch is a run, with one future."""
        return await _all(cast("Producer", self._app.producer).journaling, topic, partition, records)


async def _all(client: BatchingProducer, topic: str, partition: int, records: Sequence[Handed]) -> Sequence[Run]:
    return [Run(_offset(metadata), length) for metadata, length in await client.send_all(topic, partition, records)]


def _offset(metadata: Any) -> asyncio.Future[int]:
    """Return a future for the offset in the `metadata` that another one gives."""
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

    def __init__(self, topic: str, producer: JournalProducer, reader: KafkaReader) -> None:
        self.topic = topic
        self._producer = producer
        self._reader = reader

    def partition(self, partition: int) -> JournalLog:
        """Return the log of one partition."""
        return _PartitionLog(self.topic, partition, self._producer, self._reader)


class _PartitionLog:
    def __init__(self, topic: str, partition: int, producer: JournalProducer, reader: KafkaReader) -> None:
        self._topic = topic
        self._partition = partition
        self._producer = producer
        self._reader = reader

    async def send_all(self, records: Sequence[Handed]) -> Sequence[Run]:
        return await self._producer.send_all(self._topic, self._partition, records)

    async def read(self, start: int, stop: int) -> Sequence[tuple[int, bytes, bytes | None]]:
        return await self._reader.read(self._topic, self._partition, start, stop)
