"""Publishes closed turns' terminal frames again, for callers that submitted a turn a second time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from streams.ports import Producer, Reader
from streams.turns.plan import Done
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
        # By turn, so that a caller who asks in a loop takes no more room than one who asks once.
        self._asked: dict[TurnKey, Done] = {}
        self._wake = asyncio.Event()

    def put(self, repeats: Iterable[tuple[TurnKey, Done]]) -> None:
        """Ask for the terminal frames of closed turns."""
        self._asked.update(repeats)
        if self._asked:
            self._wake.set()

    async def run(self) -> None:
        """Publish what is asked for, until cancelled. A frame that cannot be read any more is passed over."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            asked, self._asked = self._asked, {}
            for key, done in asked.items():
                try:
                    value = await self._reader.fetch(self._released, done.partition, done.offset)
                except TimeoutError:
                    value = None
                if value is None:
                    log.warning("a terminal frame asked for again is gone: partition %d", done.partition)
                    continue
                await (await self._producer.send(self._released, self._partition, key.thread.encode(), value))
