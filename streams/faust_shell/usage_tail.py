"""Follows the `usage` topic for the turn worker's meter, with a consumer that belongs to no group.

It is read to its end before the worker takes turns: figures that begin at nothing would let everybody spend once more
after each restart. After that it is followed, and nobody may go on with figures that stand still: whatever goes wrong here
ends the process, and so does a consumer that has died without saying so, told as the `watchdog` tells it of the other one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from streams.faust_shell.watchdog import CHECK_S, STALL_S, ConsumerStalledError, Place, Standstill
from streams.ports import Clock, Fatal
from topics import codec, names
from topics.connection import Connection
from topics.errors import WireError
from topics.names import Names
from topics.records import UsageRecord

log = logging.getLogger(__name__)

#: How much further back than the longest window is read: the clocks of workers and brokers differ.
MARGIN_S = 60.0
_POLL_MS = 200

#: Told a record, and whether it is news: False while what was there already is read.
OnUsage = Callable[[UsageRecord, bool], None]


@dataclass(frozen=True, slots=True)
class UsageTail:
    """All usage records of the last `window_s` seconds, and those that follow, told to `on_usage`, each at least once.

    `partitions` is the pipeline's number of them. The consumer is looked at every `check_s` seconds, and taken for dead once
    it has stood still for `stall_s` although there is more.
    """

    connection: Connection
    topic_names: Names
    partitions: int
    window_s: float
    on_usage: OnUsage
    clock: Clock
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
                ends = await self._seek(consumer)
                tasks.append(asyncio.create_task(self._guarded(self._watch(consumer, onlooker)), name="usage watch"))
                count = await self._read_to(consumer, ends)
                tasks.append(asyncio.create_task(self._guarded(self._follow(consumer)), name="usage tail"))
                yield count
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _seek(self, consumer: AIOKafkaConsumer) -> dict[TopicPartition, int]:
        """Have the consumer begin where the window does, and return where its partitions end now."""
        topic = self.topic_names.topic(names.USAGE)
        places = [TopicPartition(topic, number) for number in range(self.partitions)]
        consumer.assign(places)
        # In this order: of a partition with nothing in the window, what comes after its end was known is in it.
        ends: dict[TopicPartition, int] = await consumer.end_offsets(places)
        since = max(0, int((self.clock() - self.window_s - MARGIN_S) * 1000))
        starts = await consumer.offsets_for_times(dict.fromkeys(places, since))
        for place in places:
            found = starts.get(place)
            consumer.seek(place, ends[place] if found is None else found.offset)
        return ends

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
                try:
                    record = codec.decode(one.value, names.USAGE.shape)
                except WireError as exc:
                    # Nobody but turn workers writes here. What somebody else did is no reason to stop them all.
                    log.warning("%s[%d]@%d: %s", place.topic, place.partition, one.offset, type(exc).__name__)
                else:
                    self.on_usage(record, news)
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
        except BaseException as exc:  # noqa: BLE001 - whatever it is, budgets would be decided by old figures
            self.fatal(exc)


def _place(place: TopicPartition) -> Place:
    return place.topic, place.partition
