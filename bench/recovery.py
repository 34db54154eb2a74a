"""What a restarted turn worker needs to take up its open turns: time until it is ready, memory, and the readers' wait.

Run it as `python -m bench.recovery [--broker host:port] [--turns N] [--records N] [--rounds N] [--deps module:attribute]`;
without a broker it starts the embedded one. The journal is what a desk plans for such turns, written by the project's own
writer; each turn owes its readers the last text it journaled, as after a kill. Each round starts a worker on an empty
journal and one on the full journal, so that what Faust and the group's first rebalance take can be told apart.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition

from bench import workers
from bench.figures import Figure, Measure
from bench.processes import cpu_s, memory_kb
from bench.rounds import Findings, Setting
from processors import Deps, load_deps
from streams.brokers.embedded import EmbeddedBroker
from streams.journal.claims import Claim
from streams.journal.runs import Handed, Run
from streams.journal.writer import JournalWriter, Row
from streams.roles.turns import policy
from streams.settings import Settings
from streams.sources import Source
from streams.turns.desk import Desk
from streams.turns.desk_settings import DeskSettings
from topics import codec, names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.content import TextPart
from topics.ids import TurnKey
from topics.names import Names
from topics.records import ModelFrame, Record, TurnRequest

PARTITIONS = 4
LIMIT_S = 110
QUESTION = "Which of my orders from last month are still open, and when will each of them reach me? " * 6
TEXT = "Order 4711 left our warehouse on Monday and should be with you by the end of this week. "
PAGE = 2_000
GROUP = "recovery"
#: Measure, the attribute of `Restart` that has it, and what that is multiplied by.
_MEASURES = (
    (Measure("time until every partition is restored", "s", "less"), "ready_s", 1.0),
    (Measure("processor time until then", "s", "less"), "cpu_s", 1.0),
    (Measure("memory then", "MB", "less"), "rss_kb", 1 / 1024),
)


@dataclass(frozen=True, slots=True)
class Load:
    """`turns` open turns, each with `records` journal records of one text each, besides those that opened it."""

    turns: int
    records: int


USUAL, QUICK = Load(10_000, 20), Load(50, 3)


class Journaled:
    """The journal that a worker would have written for `load`, partition by partition."""

    def __init__(self, load: Load, deps: str | None) -> None:
        self.load = load
        self._deps = deps

    def turns(self) -> Iterator[TurnKey]:
        """Yield the turns, each in a thread of its own."""
        for number in range(self.load.turns):
            yield TurnKey("default", f"thread-{number}", f"turn-{number}")

    def rows(self, partition: int) -> Iterator[Row]:
        """Yield the rows of one partition, turns interleaved as they are when many models speak at once."""
        desk = desk_of(self._deps, partition)
        turns = [turn for turn in self.turns() if turn.thread.partition(PARTITIONS) == partition]
        now = time.time()
        for seq in range(-1, self.load.records):
            for offset, turn in enumerate(turns):
                source = request_source(turn, offset) if seq < 0 else frame_source(turn, seq, offset)
                plan = desk.take([source], now)
                yield from (Row(str(key), record.n, record.encode()) for key, record in plan.journal)
                if seq < self.load.records - 1:
                    for out in plan.outgoing:
                        desk.confirmed(out.turn, out.n)


def desk_of(deps: str | None, partition: int = 0) -> Desk:
    """Return a worker's desk for a partition with the chain `deps`, whose members all scan."""
    declared = load_deps(deps) if deps else Deps()
    if declared.manifest.release_mode not in {"live", "scan"}:
        raise SystemExit("--deps: scanners only, the bench cannot play a chain that judges prefixes")
    settings = DeskSettings(partitions=PARTITIONS)
    return Desk(partition, policy(Settings(), declared.manifest), settings, declared.scanners())


def request_source(turn: TurnKey, offset: int) -> Source:
    """Return a turn's request as it is read from the broker."""
    return _source(names.REQUESTS, turn, offset, TurnRequest(**turn._asdict(), message=(TextPart(text=QUESTION),)))


def frame_source(turn: TurnKey, seq: int, offset: int) -> Source:
    """Return a frame of a turn as it is read from the broker."""
    return _source(names.FRAMES, turn, offset, ModelFrame(**turn._asdict(), seq=seq, text=f"{seq}: {TEXT}"))


def _source(topic: names.Topic, turn: TurnKey, offset: int, record: Record) -> Source:
    return Source(topic, turn.thread.partition(PARTITIONS), offset, codec.encode(record), lambda: None)


class _Log:
    """One journal partition, for a writer (`streams.journal.writer.JournalLog`)."""

    def __init__(self, producer: AIOKafkaProducer, topic: str, partition: int) -> None:
        self._producer = producer
        self._topic = topic
        self._partition = partition

    async def send_all(self, records: Sequence[Handed]) -> list[Run]:
        """Send records, each alone."""
        sent = [
            await self._producer.send(self._topic, value, key=key, partition=self._partition)
            for key, value, _ in records
        ]
        return [Run(asyncio.ensure_future(_offset(one)), 1) for one in sent]

    async def read(self, start: int, stop: int) -> list[tuple[int, bytes, bytes | None]]:
        """Say that somebody else wrote, which nobody should have."""
        raise RuntimeError(f"{self._topic}[{self._partition}]: records {start} to {stop} are not the bench's")


async def _offset(sent: asyncio.Future[Any]) -> int:
    return int((await sent).offset)


async def write_journal(connection: Connection, topic_names: Names, journaled: Journaled) -> int:
    """Write the journal of `journaled` to the broker, and return how many bytes its records have."""
    size = 0
    async with connection.producer(linger_ms=5, max_batch_size=256 * 1024) as producer:
        for partition in range(PARTITIONS):
            log = _Log(producer, topic_names.journal("turns"), partition)
            claim = Claim("bench", PARTITIONS)
            writer = await JournalWriter.claim(log, claim, unique=uuid.uuid4().hex, place=f"partition {partition}")
            rows = journaled.rows(partition)
            while page := list(itertools.islice(rows, PAGE)):
                size += sum(len(row.value) for row in page)
                await writer.append(page)
    return size


@dataclass(frozen=True, slots=True)
class Restart:
    """What one worker took until its last partition was restored, and until all owed text was out; its memory then.

    Times are in seconds, memory is in kB.
    """

    ready_s: float
    cpu_s: float
    owed_s: float
    rss_kb: int
    peak_kb: int


async def restart(connection: Connection, topic_names: Names, deps: str | None, turns: int) -> Restart:
    """Start a worker, wait until it restored every partition and the owed text of `turns` turns is out, and kill it."""
    settings = Settings(broker=connection.bootstrap_servers, prefix=topic_names.prefix, deps=deps, log_level="info")
    began = time.perf_counter()
    with workers.running_worker(settings) as process:
        owed = asyncio.create_task(_owed(connection, topic_names, turns))
        async with asyncio.timeout(LIMIT_S):
            while workers.restored(process) < PARTITIONS:
                process.check()
                await asyncio.sleep(0.02)
            ready_s, used_s = time.perf_counter() - began, cpu_s(process.pid)
            owed_s = await owed - began
        await asyncio.sleep(1.0)
        return Restart(ready_s, used_s, owed_s, memory_kb(process.pid), memory_kb(process.pid, "VmHWM"))


async def _owed(connection: Connection, topic_names: Names, turns: int) -> float:
    """Return the time at which something of every turn is readable on `released`."""
    missing, began = turns, time.time()
    async with connection.consumer(max_poll_records=5_000) as consumer:
        topic = topic_names.topic(names.RELEASED_FRAMES)
        consumer.assign([TopicPartition(topic, partition) for partition in range(PARTITIONS)])
        # What earlier rounds released is told by its time: the embedded broker's end of a partition can be too low.
        await consumer.seek_to_end()
        while missing > 0:
            for some in (await consumer.getmany(timeout_ms=100)).values():
                missing -= sum(one.timestamp / 1000.0 >= began for one in some)
    return time.perf_counter()


@dataclass(frozen=True, slots=True)
class Restarts:
    """What was found round by round: restarts on an `empty` journal, and on the `full` one of `size` bytes."""

    size: int
    empty: list[Restart]
    full: list[Restart]


async def restarts(bootstrap: str, load: Load, deps: str | None, rounds: int) -> Restarts:
    """Run everything, and return what was found."""
    connection = Connection(bootstrap)
    empty, full = (Names(f"bench-{uuid.uuid4().hex[:8]}.") for _ in range(2))
    for topic_names in (empty, full):
        await TopicAdmin(connection, topic_names).create(PARTITIONS)
    size = await write_journal(connection, full, Journaled(load, deps))
    found = Restarts(size, [], [])
    for number in range(rounds):
        if number:
            # A killed worker is a member of its group until its session is over.
            await asyncio.sleep(Settings().session_timeout_s + 1.0)
        found.empty.append(await restart(connection, empty, deps, 0))
        found.full.append(await restart(connection, full, deps, load.turns))
    return found


async def measure(setting: Setting) -> Findings:
    """Measure restarts as one of the groups."""
    load = QUICK if setting.quick else USUAL
    found = await restarts(setting.bootstrap, load, "bench.scanned:deps", setting.rounds)
    name, base = f"turn worker, journal of {load.turns:,} open turns", "turn worker, empty journal"
    figures = []
    for measured, attribute, factor in _MEASURES:
        for contender, runs in ((base, found.empty), (name, found.full)):
            values = tuple(getattr(one, attribute) * factor for one in runs)
            figures.append(Figure(GROUP, measured, contender, values, base))
    more = [
        max(full.rss_kb - empty.rss_kb, 0) / load.turns for full, empty in zip(found.full, found.empty, strict=True)
    ]
    figures.append(Figure(GROUP, Measure("memory per open turn", "kB", "less"), name, tuple(more)))
    owed = tuple(one.owed_s for one in found.full)
    figures.append(Figure(GROUP, Measure("time until the last owed text is out", "s", "less"), name, owed))
    return Findings(figures)


async def summary(bootstrap: str, load: Load, deps: str | None, rounds: int) -> dict[str, object]:
    """Run everything, and return the figures in a few words."""
    found = await restarts(bootstrap, load, deps, rounds)
    size = found.size
    middle = {
        kind: {name: statistics.median(getattr(one, name) for one in runs) for name in Restart.__slots__}
        for kind, runs in (("empty", found.empty), ("full", found.full))
    }
    extra = {name: middle["full"][name] - middle["empty"][name] for name in Restart.__slots__}
    return {
        "open_turns": load.turns,
        "journal_records_per_turn": load.records + 2,
        "journal_bytes_per_turn": round(size / load.turns),
        "seconds_to_ready": {kind: round(values["ready_s"], 2) for kind, values in middle.items()},
        "cpu_seconds_to_ready": {kind: round(values["cpu_s"], 2) for kind, values in middle.items()},
        "seconds_to_last_owed_text": round(middle["full"]["owed_s"], 2),
        "restored_records_per_cpu_second": round(load.turns * (load.records + 2) / max(extra["cpu_s"], 0.01)),
        "rss_kb_per_open_turn": round(extra["rss_kb"] / load.turns, 1),
        "peak_rss_kb_per_open_turn": round(extra["peak_kb"] / load.turns, 1),
    }


async def _main(arguments: argparse.Namespace) -> None:
    load = Load(arguments.turns, arguments.records)
    if arguments.broker:
        figures = await summary(arguments.broker, load, arguments.deps, arguments.rounds)
    else:
        async with EmbeddedBroker() as broker:
            figures = await summary(broker.bootstrap, load, arguments.deps, arguments.rounds)
    print(json.dumps(figures, indent=2))


def main() -> None:
    """Parse the arguments and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", help="host:port; the embedded broker without it")
    parser.add_argument("--turns", type=int, default=10_000, help="open turns in the journal")
    parser.add_argument("--records", type=int, default=20, help="journal records of each answer")
    parser.add_argument("--deps", default="bench.scanned:deps", help="the worker's chain; empty for none")
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
