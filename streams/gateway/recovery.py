"""Turns that began before the hub did are read again from the topic, all that wait for one partition at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from streams.gateway.held import Held, time_of
from topics import codec
from topics.errors import BrokerUnreachableError, WireError
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.names import RELEASED

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

    from topics.connection import Connection

log = logging.getLogger(__name__)

_POLL_MS = 200
_RETRY_S = 1.0
#: How many partitions are read again at a time: each is a connection, and as much as the broker keeps.
_AT_A_TIME = 2


@dataclass(slots=True)
class _Wish:
    """Somebody's wish: what there is of a turn from `start` up to where the hub was when the reading began."""

    turn: TurnKey
    start: int
    end: Callable[[], int]
    found: Held = field(init=False)

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget what was found."""
        self.found = Held(TurnView(self.turn))

    @property
    def in_vain(self) -> bool:
        """Whether it was looked for in the wrong place: there was nothing, or only the end of it."""
        view = self.found.view
        return self.start > 0 and (self.found.start is None or (view.pending is not None and not view.closed))


class Recovery:
    """Reads turns again; `done(turn, found)` is told what there is of each.

    Of a turn without any record, what was found has no `start`. A wish that cannot be met now is tried again until the
    broker answers.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        done: Callable[[TurnKey, Held], None],
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._done = done
        self._waiting: dict[int, dict[TurnKey, _Wish]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(_AT_A_TIME)

    def add(self, turn: TurnKey, partition: int, start: int, end: Callable[[], int]) -> None:
        """Have `turn` read again from the offset `start` of its `partition`, or from the beginning if it is not there."""
        self._waiting.setdefault(partition, {})[turn] = _Wish(turn, start, end)
        task = self._tasks.get(partition)
        if task is None or task.done():
            self._tasks[partition] = asyncio.create_task(self._run(partition))

    async def stop(self) -> None:
        """Stop reading."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, partition: int) -> None:
        while wishes := self._waiting.pop(partition, {}):
            async with self._slots:
                await self._read(partition, wishes)
            for turn, wish in wishes.items():
                if wish.in_vain:
                    self._waiting.setdefault(partition, {})[turn] = _Wish(turn, 0, wish.end)
                else:
                    self._done(turn, wish.found)

    async def _read(self, partition: int, wishes: dict[TurnKey, _Wish]) -> None:
        """Find all turns wished for, whatever the broker does."""
        while True:
            end = max(wish.end() for wish in wishes.values())
            for wish in wishes.values():
                wish.begin()
            try:
                await self._scan(partition, wishes, end)
            except (KafkaError, BrokerUnreachableError, OSError) as error:
                log.warning("turns cannot be read again now (%s): trying again", type(error).__name__)
                await asyncio.sleep(_RETRY_S)
            else:
                return

    async def _scan(self, partition: int, wishes: dict[TurnKey, _Wish], end: int) -> None:
        place = TopicPartition(self._topic, partition)
        keys = {turn.thread.encode() for turn in wishes}
        async with self._connection.consumer() as consumer:
            consumer.assign([place])
            consumer.seek(place, min(wish.start for wish in wishes.values()))
            while await consumer.position(place) < end:
                for records in (await consumer.getmany(timeout_ms=_POLL_MS)).values():
                    for record in records:
                        # Most records are other threads', and are not taken apart.
                        if record.key in keys:
                            _keep(record, wishes)


def _keep(record: ConsumerRecord, wishes: dict[TurnKey, _Wish]) -> None:
    try:
        frame = codec.decode(record.value, RELEASED)
    except WireError:  # the hub says so of each
        return
    wish = wishes.get(frame.turn)
    if wish is not None:
        wish.found.take(frame, record.offset, time_of(record))
