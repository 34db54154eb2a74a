"""Follows topics with a consumer that belongs to no group: first read to their end, then followed.

Nobody may go on with what stands still: whatever goes wrong here ends the process, and so does a consumer that has died
without saying so, told as the `watchdog` tells it of the other one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.faust_shell.watchdog import CHECK_S, STALL_S, ConsumerStalledError, Place, Standstill
from streams.ports import Fatal
from topics.connection import Connection

_POLL_MS = 200

#: Has a consumer begin where it should, and returns where its partitions end now.
Seek = Callable[[AIOKafkaConsumer], Awaitable[dict[TopicPartition, int]]]
#: Told where a record is, the record, and whether it is news: False while what was there already is read.
Take = Callable[[TopicPartition, Any, bool], None]


@dataclass(frozen=True, slots=True)
class Tail:
    """All records from where `seek` begins, and those that follow, told to `take`, each at least once.

    The consumer is looked at every `check_s` seconds, and taken for dead once it has stood still for `stall_s` although
    there is more.
    """

    name: str
    connection: Connection
    seek: Seek
    take: Take
    fatal: Fatal
    check_s: float = CHECK_S
    stall_s: float = STALL_S

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[int]:
        """Read what is there, give the block the number of records, and follow what comes while it runs.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        tasks: list[asyncio.Task[None]] = []
        async with self.connection.consumer() as consumer, self.connection.consumer() as onlooker:
            try:
                ends = await self.seek(consumer)
                tasks.append(
                    asyncio.create_task(self._guarded(self._watch(consumer, onlooker)), name=f"{self.name} watch")
                )
                count = await self._read_to(consumer, ends)
                tasks.append(asyncio.create_task(self._guarded(self._follow(consumer)), name=f"{self.name} tail"))
                yield count
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _read_to(self, consumer: AIOKafkaConsumer, ends: dict[TopicPartition, int]) -> int:
        """Count records until the `ends` are reached and there is nothing more; return how many there were."""
        count = 0
        while True:
            found = await self._take(consumer, news=False)
            count += found
            # The end that the embedded broker tells is too low after a batch of several: so nothing must be left, too.
            if not found and all([await consumer.position(place) >= end for place, end in ends.items()]):
                return count

    async def _follow(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            await self._take(consumer, news=True)

    async def _take(self, consumer: AIOKafkaConsumer, *, news: bool) -> int:
        batches = await consumer.getmany(timeout_ms=_POLL_MS)
        for place, batch in batches.items():
            for one in batch:
                self.take(place, one, news)
        return sum(map(len, batches.values()))

    async def _watch(self, consumer: AIOKafkaConsumer, onlooker: AIOKafkaConsumer) -> None:
        standstill = Standstill(self.stall_s)
        while True:
            await asyncio.sleep(self.check_s)
            places = consumer.assignment()
            try:
                ends = await onlooker.end_offsets(places)
            except KafkaError:
                # A broker that does not answer stalls everybody, and others will say so.
                ends = {}
            positions = {_place(place): await consumer.position(place) for place in places} if ends else {}
            still = standstill.look(positions, {_place(place): end for place, end in ends.items()}, time.monotonic())
            if still is not None:
                raise ConsumerStalledError("{}[{}] has more, and nothing of it is fetched".format(*still))

    async def _guarded(self, run: Coroutine[Any, Any, None]) -> None:
        try:
            await run
        except asyncio.CancelledError:
            raise
        except BaseException as exc:  # noqa: BLE001 - whatever it is, turns would be decided by what is old
            self.fatal(exc)


def _place(place: TopicPartition) -> Place:
    return place.topic, place.partition
