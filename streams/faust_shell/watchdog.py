"""Ends a worker whose consumer has died without saying so (faust-streaming#175, #532 and others).

Such a worker still heartbeats, so its group never gives its partitions away. What gives it away is a position that stands
still before the partition's end: there is more, nothing is fetched for a long time, and nothing explains it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from aiokafka.errors import KafkaError

from streams.faust_shell.observer import WorkerObserver
from streams.ports import Fatal
from topics.connection import Connection

CHECK_S = 15.0
STALL_S = 90.0

#: A partition: its topic and number.
Place = tuple[str, int]


class ConsumerStalledError(RuntimeError):
    """Records wait on an assigned partition and none was fetched for long: the consumer is dead, restart the worker."""


class Standstill:
    """How long each partition's consumer has stood at the same position although more is there."""

    def __init__(self, stall_s: float = STALL_S) -> None:
        self._stall_s = stall_s
        self._since: dict[Place, tuple[int, float]] = {}

    def look(self, positions: Mapping[Place, int], ends: Mapping[Place, int], now: float) -> Place | None:
        """Return a partition that has stood still for too long, if there is one; `now` is of a clock that goes forward.

        Partitions that are not among `positions` are forgotten: they moved away, or have a reason to wait.
        """
        standing = {place: at for place, at in positions.items() if at < ends.get(place, at)}
        self._since = {
            place: (at, self._since[place][1] if self._since.get(place, (None, now))[0] == at else now)
            for place, at in standing.items()
        }
        return next((place for place, (_, since) in self._since.items() if now - since >= self._stall_s), None)


class Watchdog:
    """Watches the consumer of one Faust app."""

    def __init__(
        self,
        app: Any,
        connection: Connection,
        fatal: Fatal,
        observer: WorkerObserver | None = None,
        *,
        check_s: float = CHECK_S,
    ) -> None:
        self._app = app
        self._observer = observer or WorkerObserver()
        self._connection = connection
        self._fatal = fatal
        self._check_s = check_s
        self._standstill = Standstill()

    async def run(self) -> None:
        """Check from time to time, until cancelled."""
        # As far as the watched consumer reads: not beyond a transaction that is still open.
        async with self._connection.consumer(isolation_level="read_committed") as onlooker:
            while True:
                await asyncio.sleep(self._check_s)
                try:
                    await self._check(onlooker)
                except KafkaError:
                    # A broker that does not answer stalls everybody, and others will say so.
                    self._standstill.look({}, {}, time.monotonic())

    async def _check(self, onlooker: Any) -> None:
        settling = self._app.rebalancing or self._app.in_recovery
        places = [] if settling else self._read()
        ends = await onlooker.end_offsets(places) if places else {}
        positions = {tp: at for tp in places if (at := await self._app.consumer.position(tp)) is not None}
        self._observer.lag({_place(tp): max(0, ends[tp] - at) for tp, at in positions.items() if tp in ends})
        # Whose queue is full is not fetched, and has a reason to stand still.
        waiting = self._app.consumer._buffered_partitions  # noqa: SLF001 - Faust has no other word for it
        still = self._standstill.look(
            {_place(tp): at for tp, at in positions.items() if tp not in waiting},
            {_place(tp): end for tp, end in ends.items()},
            time.monotonic(),
        )
        if still is not None:
            self._fatal(ConsumerStalledError("{}[{}] has more, and nothing of it is fetched".format(*still)))

    def _read(self) -> list[Any]:
        """Return the assigned partitions that are read all the time: no journals."""
        journals = self._app.tables.changelog_topics
        return [tp for tp in self._app.consumer.assignment() if tp.topic not in journals]


def _place(tp: Any) -> Place:
    return tp.topic, tp.partition
