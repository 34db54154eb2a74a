"""Follows the `usage` topic for the turn worker's meter, with a consumer that belongs to no group.

It is read to its end before the worker takes turns: figures that begin at nothing would let everybody spend once more
after each restart. After that it is followed, as `tail` does it: nobody may go on with figures that stand still.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.faust_shell.tail import Tail
from streams.faust_shell.watchdog import CHECK_S, STALL_S
from streams.ports import Clock, Fatal
from topics import codec, names
from topics.connection import Connection
from topics.errors import WireError
from topics.names import Names
from topics.records import UsageRecord

log = logging.getLogger(__name__)

#: How much further back than the longest window is read: the clocks of workers and brokers differ.
MARGIN_S = 60.0

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
        tail = Tail("usage", self.connection, self._seek, self._take, self.fatal, self.check_s, self.stall_s)
        async with tail.followed() as count:
            yield count

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

    def _take(self, place: TopicPartition, one: Any, news: bool) -> None:
        try:
            record = codec.decode(one.value, names.USAGE.shape)
        except WireError as exc:
            # Nobody but turn workers writes here. What somebody else did is no reason to stop them all.
            log.warning("%s[%d]@%d: %s", place.topic, place.partition, one.offset, type(exc).__name__)
        else:
            self.on_usage(record, news)
