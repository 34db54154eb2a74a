"""What readers see while the workers die: every turn folded as it arrives, with the time of each piece of news."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Self

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from tests.integration.pipeline import Pipeline
from topics import codec, names
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.records import ReleasedFrame, TextFrame


@dataclass
class Reading:
    """One reader's turn: what it sees, when new text came (seconds of the loop's clock), what came for nothing."""

    view: TurnView
    text_at: list[float] = field(default_factory=list)
    closed_at: float | None = None
    dropped: int = 0

    def take(self, frame: ReleasedFrame, now: float) -> None:
        """Fold `frame`, which arrived at `now`."""
        before, self.view = self.view, fold(self.view, frame)
        if any(isinstance(news, TextFrame) for news in self.view.news):
            self.text_at.append(now)
        if self.view.closed and self.closed_at is None:
            self.closed_at = now
        seen = (before.steps, before.pending, before.postprocessed)
        if not self.view.news and seen == (self.view.steps, self.view.pending, self.view.postprocessed):
            self.dropped += 1

    @property
    def longest_pause_s(self) -> float:
        """The longest this reader waited between two pieces of text, or between the last one and the end."""
        times = [*self.text_at, *([self.closed_at] if self.closed_at is not None else [])]
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


class Readers:
    """Readers of all turns that were announced with `watch`, in one task; an async context manager."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self.of: dict[TurnKey, Reading] = {}

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def watch(self, turn: TurnKey) -> None:
        """Follow `turn`; must be called before it is submitted, or its first frames are missed."""
        self.of[turn] = Reading(TurnView(turn))

    def open(self, turns: Collection[TurnKey]) -> list[TurnKey]:
        """Return which of `turns` have not ended for their readers."""
        return [turn for turn in turns if self.of[turn].closed_at is None]

    async def until(self, enough: Callable[[], bool], limit_s: float) -> None:
        """Return once `enough()` is true; checked with every frame that arrives.

        Raises:
            TimeoutError: it was not within `limit_s` seconds.
        """
        async with asyncio.timeout(limit_s):
            while not enough():
                if self._task is not None and self._task.done():
                    self._task.result()
                self._changed.clear()
                await self._changed.wait()

    def recovery_s(self, turns: Collection[TurnKey], fault_at: float) -> float:
        """Return how long after `fault_at` text was released again on the partition where that took longest.

        Only partitions that had something left to release count: those where one of `turns` got text after the fault.
        """
        count = self._pipeline.client.partitions
        first: dict[int, float] = defaultdict(lambda: float("inf"))
        for turn in turns:
            partition = turn.thread.partition(count)
            first[partition] = min([first[partition], *(at for at in self.of[turn].text_at if at > fault_at)])
        waited = [at - fault_at for at in first.values() if at != float("inf")]
        return max(waited, default=0.0)

    async def _follow(self) -> None:
        topic = self._pipeline.names.topic(names.RELEASED_FRAMES)
        places = [TopicPartition(topic, number) for number in range(self._pipeline.client.partitions)]
        async with self._pipeline.connection.consumer() as consumer:
            consumer.assign(places)
            for place in places:
                consumer.seek(place, 0)
            while True:
                try:
                    batches = await consumer.getmany(timeout_ms=100)
                except KafkaError:  # a broker is away: readers wait, and go on where they were
                    await asyncio.sleep(0.2)
                    continue
                now = asyncio.get_running_loop().time()
                for records in batches.values():
                    for record in records:
                        frame = codec.decode(record.value, names.RELEASED)
                        if frame.turn in self.of:
                            self.of[frame.turn].take(frame, now)
                self._changed.set()
