"""The ports of one simulated process on the broker in memory: producer, journal, reader, acknowledgements."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from streams.journal.replay import Replay
from streams.journal.runs import Handed, Run
from streams.sources import Source
from tests.memory.broker import Broker, Stored
from tests.memory.power import Power, PowerCut
from topics.names import Topic
from topics.trace_context import Headers


@dataclass(slots=True)
class _Sent:
    key: bytes | None
    value: bytes | None
    future: asyncio.Future[int]
    headers: Headers = ()


class MemoryProducer:
    """`streams.ports.Producer`: records are on their way for a moment, and durable in the order they were sent in.

    With `holding`, they stay on their way until `deliver` is called; `slow` says for which topics that is always so.
    `trace` is told what is sent and what is durable.
    """

    def __init__(
        self,
        broker: Broker,
        power: Power,
        trace: Callable[[str], None] | None = None,
        *,
        slow: Callable[[str], bool] | None = None,
    ) -> None:
        self.broker = broker
        self.power = power
        self.holding = False
        self.failure: Exception | None = None
        self._trace = trace or _ignore
        self._slow = slow or _never
        self._under_way: defaultdict[tuple[str, int], deque[_Sent]] = defaultdict(deque)

    async def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> asyncio.Future[int]:
        """Send a record; the future gives its offset once it is durable."""
        await self.power.walk(f"send {topic}")
        if self.failure is not None:
            raise self.failure
        self._trace(f"send {topic}")
        place = (topic, partition or 0)
        sent = _Sent(key, value, asyncio.get_running_loop().create_future(), headers)
        self._under_way[place].append(sent)
        if not (self.holding or self._slow(topic)):
            asyncio.get_running_loop().call_soon(self._land, place)
        return sent.future

    async def send_all(self, topic: str, partition: int, records: Sequence[Handed]) -> list[Run]:
        """Send records, each as a run of its own: a process may die between any two of them."""
        return [Run(await self.send(topic, partition, *record), 1) for record in records]

    def deliver(self, topic: str, partition: int = 0, count: int = 1) -> None:
        """Make the next `count` held records of a partition durable."""
        for _ in range(count):
            self._land((topic, partition))

    def deliver_next(self) -> bool:
        """Make one held record durable, of any partition; return whether there was one."""
        for place, waiting in self._under_way.items():
            if waiting:
                self._land(place)
                return True
        return False

    def under_way(self, topic: str, partition: int = 0) -> int:
        """Return how many records of a partition are on their way."""
        return len(self._under_way[topic, partition])

    def lose_connection(self, fate: Random) -> None:
        """Let a random part of what is on its way arrive: of each partition, the first few."""
        for place, waiting in self._under_way.items():
            for _ in range(fate.randint(0, len(waiting))):
                sent = waiting.popleft()
                self.broker.append(*place, sent.key, sent.value, sent.headers)

    def _land(self, place: tuple[str, int]) -> None:
        if self.power.off or not self._under_way[place]:
            return
        sent = self._under_way[place].popleft()
        offset = self.broker.append(*place, sent.key, sent.value, sent.headers)
        if self.power.reach(f"durable {place[0]}"):
            self._trace(f"durable {place[0]}")
            if not sent.future.done():
                sent.future.set_result(offset)


def _ignore(_: str) -> None:
    """Tell nobody."""


def _never(_: str) -> bool:
    """Say no."""
    return False


class MemoryReader:
    """`streams.ports.Reader`."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def fetch(self, topic: str, partition: int, offset: int) -> bytes | None:
        """Return the value of one record, None if it is gone."""
        found = self._broker.logs[topic, partition].read(offset, offset + 1)
        return found[0].value if found else None


class MemoryLog:
    """`streams.journal.writer.JournalLog`: one partition of the journal."""

    def __init__(self, producer: MemoryProducer, topic: str, partition: int) -> None:
        self._producer = producer
        self._topic = topic
        self._partition = partition

    async def send_all(self, records: Sequence[Handed]) -> list[Run]:
        """Send records."""
        return await self._producer.send_all(self._topic, self._partition, records)

    async def read(self, start: int, stop: int) -> Sequence[tuple[int, bytes, bytes | None]]:
        """Return the records with offsets in [`start`, `stop`) that are there."""
        await self._producer.power.walk("read the journal")
        found = self._producer.broker.logs[self._topic, self._partition].read(start, stop)
        return [(one.offset, one.key or b"", one.value) for one in found]


class MemoryLogs:
    """`streams.journal.owner.Logs`."""

    def __init__(self, producer: MemoryProducer, topic: str) -> None:
        self.topic = topic
        self._producer = producer

    def partition(self, partition: int) -> MemoryLog:
        """Return the log of one partition."""
        return MemoryLog(self._producer, self.topic, partition)


def replay_of(broker: Broker, topic: str, partition: int) -> Replay:
    """Read a journal partition from its beginning to its end."""
    replay = Replay()
    for one in broker.read(topic, partition):
        replay.apply(one.offset, one.key or b"", one.value)
    return replay


class Feed:
    """Reads source topics of one partition for one process, in order of arrival, from the committed offsets on.

    `commits` says whether what is acknowledged is committed at once; if not, all of it comes again after a crash.
    `current` becomes False when another process took over: the broker takes no more commits from this one.
    """

    def __init__(
        self,
        broker: Broker,
        power: Power,
        topics: dict[str, Topic],
        *,
        partition: int = 0,
        commits: bool = True,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self._broker = broker
        self._power = power
        self._topics = topics
        self._partition = partition
        self._commits = commits
        self._trace = trace or _ignore
        self._next = {name: broker.committed.get((name, partition), 0) for name in topics}
        self.acked: list[tuple[str, int]] = []
        self.current = True

    def take(self) -> Source | None:
        """Return the oldest record not taken yet, None if there is none."""
        waiting: list[tuple[Stored, str]] = []
        for name, start in self._next.items():
            waiting += [(one, name) for one in self._broker.read(name, self._partition, start)[:1]]
        if not waiting:
            return None
        one, name = min(waiting, key=lambda found: found[0].serial)
        self._next[name] = one.offset + 1
        ack = lambda: self._ack(name, one.offset)  # noqa: E731 - it has no name worth a line
        return Source(self._topics[name], self._partition, one.offset, one.value, ack, headers=one.headers)

    def _ack(self, name: str, offset: int) -> None:
        self._power.step(f"ack {name}")
        self._trace(f"ack {name} {offset}")
        self.acked.append((name, offset))
        if self._commits and self.current:
            self._broker.committed[name, self._partition] = offset + 1
        self._power.step(f"acked {name}")


__all__ = ["Feed", "MemoryLog", "MemoryLogs", "MemoryProducer", "MemoryReader", "PowerCut", "replay_of"]
