"""The end of a topic, read for whoever wants to know what happens: what is missed while the broker is away comes later."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from topics.errors import BrokerUnreachableError, SealedRecordError

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, ConsumerRecord

    from topics.connection import Connection

log = logging.getLogger(__name__)

_POLL_MS = 200
_RETRY_S = 1.0
#: The longest wait before a topic is tried again that cannot be read, in seconds.
_MAX_RETRY_S = 60.0


class Extent(NamedTuple):
    """Offsets of a partition: the oldest record, the first one written since some time, and the next one to come."""

    oldest: int
    since: int
    end: int


async def extents(
    consumer: AIOKafkaConsumer, places: Iterable[TopicPartition], since: float
) -> dict[TopicPartition, Extent]:
    """Return where the records of `places` are that were written at `since` (epoch seconds) or later.

    Raises:
        KafkaError: the broker does not say.
    """
    places = list(places)
    oldest = await consumer.beginning_offsets(places)
    ends = await consumer.end_offsets(places)
    found = await consumer.offsets_for_times(dict.fromkeys(places, max(0, int(since * 1000))))
    known: dict[TopicPartition, Extent] = {}
    for place in places:
        first = found.get(place)
        # Where there is no such record the embedded broker answers 0 with an impossible time, and Kafka nothing.
        at = first.offset if first is not None and first.timestamp >= 0 else ends[place]
        known[place] = Extent(oldest[place], at, ends[place])
    return known


class Tail:
    """Hands every record of `topic` that was written since `since` (epoch seconds) to `take`; an async context manager.

    Entering waits for nothing: a topic that is not there, or that this process may not read, is tried again, and
    `reading` says whether it can be read.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        partitions: int,
        since: float,
        take: Callable[[ConsumerRecord], None],
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._places = [TopicPartition(topic, number) for number in range(partitions)]
        self._since = since
        self._take = take
        self._next: dict[TopicPartition, int] = {}
        self._running: asyncio.Task[None] | None = None
        self.reading = False

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        wait = _RETRY_S
        while True:
            try:
                async with self._connection.consumer() as consumer:
                    consumer.assign(self._places)
                    if not self._next:
                        found = await extents(consumer, self._places, self._since)
                        self._next = {place: extent.since for place, extent in found.items()}
                    for place, offset in self._next.items():
                        consumer.seek(place, offset)
                    self.reading, wait = True, _RETRY_S
                    await self._read(consumer)
            except (KafkaError, BrokerUnreachableError, OSError) as error:
                log.warning("%s cannot be read (%s): trying again in %g s", self._topic, type(error).__name__, wait)
            except SealedRecordError as error:
                # Readers do without it; that a key is missing must be told.
                log.error("%s: trying again in %g s", error, wait)  # noqa: TRY400 - the place says nothing
            self.reading = False
            await asyncio.sleep(wait)
            wait = min(2 * wait, _MAX_RETRY_S)

    async def _read(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            for place, records in (await consumer.getmany(timeout_ms=_POLL_MS)).items():
                for record in records:
                    self._take(record)
                    self._next[place] = record.offset + 1
