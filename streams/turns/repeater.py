"""Publishes closed turns' terminal frames again, for callers that submitted a turn a second time."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from streams.inbox import Inbox
from streams.ports import Producer, Reader
from streams.turns.desk import Done
from topics import names
from topics.ids import TurnKey
from topics.names import Names

log = logging.getLogger(__name__)


class Repeater:
    """Beside the ingest loop, because reading a record back takes its time and nobody's promise waits for it."""

    def __init__(self, partition: int, topic_names: Names, producer: Producer, reader: Reader) -> None:
        self._partition = partition
        self._released = topic_names.topic(names.RELEASED_FRAMES)
        self._producer = producer
        self._reader = reader
        self._asked: Inbox[tuple[TurnKey, Done]] = Inbox()

    def put(self, repeats: Iterable[tuple[TurnKey, Done]]) -> None:
        """Ask for the terminal frames of closed turns."""
        for one in repeats:
            self._asked.put(one)

    async def run(self) -> None:
        """Publish what is asked for, until cancelled. A frame that cannot be read any more is passed over."""
        while True:
            for key, done in dict(await self._asked.take()).items():
                try:
                    value = await self._reader.fetch(self._released, done.partition, done.offset)
                except TimeoutError:
                    value = None
                if value is None:
                    log.warning("a terminal frame asked for again is gone: partition %d", done.partition)
                    continue
                await (await self._producer.send(self._released, self._partition, key.thread.encode(), value))
