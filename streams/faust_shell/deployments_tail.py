"""Reads the topic of deployments to its end, then follows it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.faust_shell.tail import Tail
from streams.ports import Fatal
from topics import codec, names
from topics.connection import Connection
from topics.errors import WireError
from topics.names import Names
from topics.records import DeploymentRecord

log = logging.getLogger(__name__)

#: Told a key, the record there or None where it was deleted, the record's offset, and whether it is news.
OnDeployment = Callable[[str, DeploymentRecord | None, int, bool], None]


@dataclass(frozen=True, slots=True)
class DeploymentsTail:
    """All that is on `deployments`, and what follows, told to `on_deployment`; `on_unreadable` gets offsets."""

    connection: Connection
    topic_names: Names
    on_deployment: OnDeployment
    on_unreadable: Callable[[int, str], None]
    fatal: Fatal

    @asynccontextmanager
    async def followed(self) -> AsyncIterator[int]:
        """Read what is there, give the block the number of records, and follow what comes while it runs.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        tail = Tail("deployments", self.connection, self._seek, self._take, self.fatal)
        async with tail.followed() as count:
            yield count

    async def _seek(self, consumer: AIOKafkaConsumer) -> dict[TopicPartition, int]:
        place = TopicPartition(self.topic_names.topic(names.DEPLOYMENTS), 0)
        consumer.assign([place])
        ends: dict[TopicPartition, int] = await consumer.end_offsets([place])
        await consumer.seek_to_beginning(place)
        return ends

    def _take(self, place: TopicPartition, one: Any, news: bool) -> None:
        key = (one.key or b"").decode(errors="replace")
        try:
            record = None if one.value is None else codec.decode(one.value, names.DEPLOYMENT)
        except WireError as exc:
            log.warning("%s[%d]@%d: %s", place.topic, place.partition, one.offset, type(exc).__name__)
            self.on_unreadable(one.offset, str(exc))
        else:
            self.on_deployment(key, record, one.offset, news)
