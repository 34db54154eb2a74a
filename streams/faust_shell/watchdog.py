"""Ends a worker whose consumer has died without saying so (faust-streaming#175, #532 and others).

Such a worker still heartbeats, so its group never gives its partitions away. What gives it away is lag that does not move:
there are records behind the last one delivered, nothing was delivered for a long time, and nothing explains it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from aiokafka.errors import KafkaError

from streams.ports import Fatal
from topics.connection import Connection

CHECK_S = 15.0
STALL_S = 90.0


class ConsumerStalledError(RuntimeError):
    """Records wait on an assigned partition and none was delivered for long: the consumer is dead, restart the worker."""


class Progress:
    """What was delivered from each partition, and since when it has been waiting for more.

    Partitions are named by (topic, partition); times are seconds of any clock that only goes forward.
    """

    def __init__(self, stall_s: float = STALL_S) -> None:
        self._stall_s = stall_s
        self._next: dict[tuple[str, int], int] = {}
        self._waiting_since: dict[tuple[str, int], float] = {}

    def delivered(self, place: tuple[str, int], offset: int) -> None:
        """Note that the record at `offset` was handed on."""
        self._next[place] = offset + 1
        self._waiting_since.pop(place, None)

    def forget(self) -> None:
        """Start over: the assignment changed, or something else explains why nothing is delivered."""
        self._next.clear()
        self._waiting_since.clear()

    def stalled(self, ends: Mapping[tuple[str, int], int], now: float) -> tuple[str, int] | None:
        """Return a partition that has waited too long although it goes on to `ends`, if there is one."""
        for place, end in ends.items():
            known = self._next.get(place)
            if known is None or end <= known:
                self._waiting_since.pop(place, None)
            elif now - self._waiting_since.setdefault(place, now) >= self._stall_s:
                return place
        return None


class Watchdog:
    """Watches the consumer of one Faust app; `progress` is told of every record that is delivered."""

    def __init__(self, app: Any, connection: Connection, fatal: Fatal, *, check_s: float = CHECK_S) -> None:
        self._app = app
        self._connection = connection
        self._fatal = fatal
        self._check_s = check_s
        self.progress = Progress()

    async def run(self) -> None:
        """Check from time to time, until cancelled."""
        async with self._connection.consumer() as onlooker:
            while True:
                await asyncio.sleep(self._check_s)
                try:
                    await self._check(onlooker)
                except KafkaError:
                    # A broker that does not answer stalls everybody, and others will say so.
                    self.progress.forget()

    async def _check(self, onlooker: Any) -> None:
        if self._app.rebalancing or self._app.in_recovery:
            self.progress.forget()
            return
        journals = self._app.tables.changelog_topics
        places = [tp for tp in self._app.consumer.assignment() if tp.topic not in journals]
        ends = await onlooker.end_offsets(places) if places else {}
        here = {(tp.topic, tp.partition): end for tp, end in ends.items()}
        stalled = self.progress.stalled(here, time.monotonic())
        if stalled is not None:
            self._fatal(ConsumerStalledError("{}[{}] has more, and nothing of it was delivered".format(*stalled)))
