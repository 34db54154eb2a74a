"""Agents hand records on and acknowledge nothing; only new work waits for room."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

from streams.faust_shell.feeding import feed
from streams.sources import Source
from topics import names

Agent = Callable[[Any], Awaitable[None]]


class Stream:
    """A stream of batches, each the offsets of its records; `broken` ends it with an error.

    `acked` collects the offsets of the batches that were acknowledged.
    """

    def __init__(
        self,
        *batches: list[int],
        broken: bool = False,
        values: dict[int, bytes] | None = None,
        timestamp: int = 1_800_000_000_000,
        headers: tuple[tuple[str, bytes], ...] = (),
    ) -> None:
        self._timestamp = timestamp
        self._headers = headers
        self._batches = batches
        self._broken = broken
        self._values = values or {}
        self.acknowledges = True
        self.acked: list[int] = []

    def noack(self) -> Stream:
        """Leave acknowledging to others."""
        self.acknowledges = False
        return self

    async def events(self) -> AsyncIterator[Any]:
        """Yield an event for each batch."""
        for batch in self._batches:
            records = [
                SimpleNamespace(
                    partition=3,
                    offset=offset,
                    value=self._values.get(offset, b"v%d" % offset),
                    timestamp=self._timestamp,
                    headers=self._headers,
                )
                for offset in batch
            ]
            last = batch[-1]
            message = SimpleNamespace(topic="t", partition=3, offset=last, records=records)
            yield SimpleNamespace(message=message, ack=lambda last=last: self.acked.append(last))
        if self._broken:
            raise ConnectionError("the stream broke")


class Stage:
    """An app with agents, and the worker that they feed."""

    def __init__(self) -> None:
        self.agents: dict[str, Agent] = {}
        self.taken: list[Source] = []
        self.fatal: list[BaseException] = []
        self.full = False
        self.rebalancing = False
        self.should_stop = False
        self.connection = None
        self.watching: list[Any] = []
        feed(cast("Any", self), self, self.fatal.append, patient=names.REQUESTS, urgent=[names.FRAMES])

    def task(self, run: Any) -> None:
        """Note a task of the app."""
        self.watching.append(run)

    def source(self, topic: names.Topic) -> names.Topic:
        """Return the topic."""
        return topic

    def agent(self, topic: names.Topic, name: str) -> Callable[[Agent], None]:
        """Note an agent."""
        assert topic.name == name

        def register(agent: Agent) -> None:
            self.agents[name] = agent

        return register

    async def deliver(self, source: Source) -> None:
        """Take a record."""
        self.taken.append(source)

    async def deliver_all(self, sources: Sequence[Source]) -> None:
        """Take records."""
        self.taken += sources


async def test_records_are_handed_on_as_they_are_and_streams_acknowledge_nothing() -> None:
    """Topic, place, value and time, one by one."""
    stage, stream = Stage(), Stream([5, 6], [7])
    await stage.agents["frames"](stream)
    assert [(one.topic, one.partition, one.offset, one.value, one.written_at) for one in stage.taken] == [
        (names.FRAMES, 3, 5, b"v5", 1_800_000_000.0),
        (names.FRAMES, 3, 6, b"v6", 1_800_000_000.0),
        (names.FRAMES, 3, 7, b"v7", 1_800_000_000.0),
    ]
    assert not stream.acknowledges
    assert stream.acked == []


async def test_a_record_without_a_timestamp_has_none() -> None:
    """Kafka writes -1 for it, which is no time at all and not the year 1969."""
    stage, stream = Stage(), Stream([5], timestamp=-1)
    await stage.agents["frames"](stream)
    assert [one.written_at for one in stage.taken] == [None]


async def test_of_headers_only_those_that_say_a_trace_wait_in_memory() -> None:
    """What waits is counted by its values, and others may be as long as these."""
    stage = Stage()
    said = (("baggage", b"x" * 100_000), ("tracestate", b"a=b"))
    await stage.agents["requests"](Stream([1], headers=said))
    assert [one.headers for one in stage.taken] == [(("tracestate", b"a=b"),)]


async def test_a_batch_is_acknowledged_with_its_last_record() -> None:
    """One acknowledgement stands for the whole batch, so the records before the last must give none."""
    stage, stream = Stage(), Stream([5, 6], [7])
    await stage.agents["frames"](stream)
    stage.taken[0].ack()
    assert stream.acked == []
    stage.taken[1].ack()
    assert stream.acked == [6]
    stage.taken[2].ack()
    assert stream.acked == [6, 7]


async def test_only_the_patient_topic_waits_while_the_worker_is_full() -> None:
    """Frames are what a full worker waits for."""
    stage = Stage()
    stage.full = True
    await stage.agents["frames"](Stream([1]))
    assert len(stage.taken) == 1
    waiting = asyncio.create_task(cast("Any", stage.agents["requests"](Stream([2]))))
    await asyncio.sleep(0.05)
    assert len(stage.taken) == 1
    stage.full = False
    await waiting
    assert [one.offset for one in stage.taken] == [1, 2]


async def test_a_rebalance_ends_the_wait_for_room() -> None:
    """What was read must be acknowledged before partitions can move."""
    stage = Stage()
    stage.full = True
    waiting = asyncio.create_task(cast("Any", stage.agents["requests"](Stream([2]))))
    await asyncio.sleep(0.01)
    stage.rebalancing = True
    await waiting
    assert [one.offset for one in stage.taken] == [2]


async def test_being_told_to_stop_ends_the_wait_for_room() -> None:
    """A full worker must not make its supervisor kill it."""
    stage = Stage()
    stage.full = True
    waiting = asyncio.create_task(cast("Any", stage.agents["requests"](Stream([2]))))
    await asyncio.sleep(0.01)
    stage.should_stop = True
    await waiting
    assert [one.offset for one in stage.taken] == [2]


async def test_cancels_do_not_wait_behind_requests_of_a_full_worker() -> None:
    """They make the room that the requests wait for; in their turn they come again, with their acknowledgement."""
    stage = Stage()
    stage.full = True
    values = {2: b'{"message":"how do I \\"cancel\\"?"}', 3: b'{"type":"cancel"}'}
    stream = Stream([2, 3], values=values)
    waiting = asyncio.create_task(cast("Any", stage.agents["requests"](stream)))
    await asyncio.sleep(0.01)
    assert [one.offset for one in stage.taken] == [3]
    stage.taken[0].ack()
    assert stream.acked == []
    stage.full = False
    await waiting
    assert [one.offset for one in stage.taken] == [3, 2, 3]


async def test_a_stream_that_breaks_ends_the_process() -> None:
    """Faust would start the agent again, one record further on."""
    stage = Stage()
    await stage.agents["requests"](Stream([1], broken=True))
    assert [type(exc) for exc in stage.fatal] == [ConnectionError]


def test_the_consumer_is_watched() -> None:
    """A consumer may die in silence."""
    assert len(Stage().watching) == 1
