"""What finished turns cost: memory of a turn worker, records and bytes of its journal before and after the log is cleaned.

Run it as `python -m bench.housekeeping [--broker host:port] [--turns N] [--chars N] [--history]`; without a broker it
starts the embedded one, which does not clean logs. The turns' model is this process. Memory is read at eighths of the way
once all turns so far have ended, and its growth per turn is the slope of the second half. With `--history` callers send
none, so that the worker remembers their threads; each turn has a thread of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Self

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from bench.figures import Measure
from bench.processes import memory_kb
from bench.rounds import Contender, Findings, Setting, Values, side_by_side
from bench.workers import journal_size, running_worker
from streams.brokers.embedded import EmbeddedBroker
from streams.settings import Settings
from topics import codec, names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.content import TextPart
from topics.ids import TurnKey
from topics.names import Names
from topics.records import ModelFrame, TurnRequest

PARTITIONS = 4
PAGE = 500
STEPS = 8
LIMIT_S = 1_800
CLEANING_S = 90
GROUP = "housekeeping"
TURNS, QUICK_TURNS = 4_000, 80
QUESTION = "Which of my orders from last month are still open, and when will each of them reach me?"


class Crowd:
    """Callers and the model of many turns, on one broker; ends are counted as they are released."""

    def __init__(self, connection: Connection, topic_names: Names, *, chars: int, history: bool) -> None:
        self._connection = connection
        self._names = topic_names
        self._text = "x" * chars
        self._history = history
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._producer = await self._stack.enter_async_context(self._connection.producer(linger_ms=2))
        self._prompts = await self._reader(names.PROMPTS)
        self._released = await self._reader(names.RELEASED_FRAMES)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _reader(self, topic: names.Topic) -> aiokafka.AIOKafkaConsumer:
        reader = await self._stack.enter_async_context(self._connection.consumer(max_poll_records=5_000))
        reader.assign([aiokafka.TopicPartition(self._names.topic(topic), number) for number in range(PARTITIONS)])
        return reader

    async def run(self, first: int, count: int) -> None:
        """Take `count` turns from their request to their end."""
        for number in range(first, first + count):
            await self._ask(TurnKey("default", str(uuid.uuid4()), f"{number}-{uuid.uuid4()}"))
        prompted = ended = 0
        while ended < count:
            for record in await _poll(self._prompts):
                await self._answer(codec.decode(record.value, names.PROMPT_REQUEST).turn)
                prompted += 1
            for record in await _poll(self._released):
                ended += codec.decode(record.value, names.RELEASED).kind == "completed"

    async def _ask(self, turn: TurnKey) -> None:
        history = None if self._history else ()
        request = TurnRequest(**turn._asdict(), message=(TextPart(text=QUESTION),), history=history)
        await self._send(names.REQUESTS, turn, codec.encode(request))

    async def _answer(self, turn: TurnKey) -> None:
        for seq, finish in enumerate((None, "stop")):
            frame = ModelFrame(**turn._asdict(), seq=seq, text=self._text, finish_reason=finish)
            await self._send(names.FRAMES, turn, codec.encode(frame))

    async def _send(self, topic: names.Topic, turn: TurnKey, value: bytes) -> None:
        key = turn.thread.encode()
        await self._producer.send(self._names.topic(topic), value, key=key, partition=turn.thread.partition(PARTITIONS))


async def _poll(reader: aiokafka.AIOKafkaConsumer) -> list[aiokafka.ConsumerRecord]:
    return [record for some in (await reader.getmany(timeout_ms=20)).values() for record in some]


async def force_cleaning(connection: Connection, topic_names: Names) -> None:
    """Have the broker clean the journal now, tombstones included, where it cleans logs at all."""
    admin = AIOKafkaAdminClient(bootstrap_servers=connection.bootstrap_servers)
    await admin.start()
    try:
        wanted = {
            "cleanup.policy": "compact",
            "segment.ms": "1000",
            "delete.retention.ms": "0",
            "min.cleanable.dirty.ratio": "0.001",
            "max.compaction.lag.ms": "1000",
        }
        topic = ConfigResource(ConfigResourceType.TOPIC, topic_names.journal("turns"), configs=wanted)
        await admin.alter_configs([topic])
    finally:
        await admin.close()


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """What a run found: its seconds, memory in kB after so many turns, the journal before and after it was cleaned.

    The journal is its number of records and their bytes.
    """

    turns: int
    seconds: float
    memory: list[tuple[int, int]]
    dirty: tuple[int, int]
    clean: tuple[int, int]

    @property
    def bytes_per_turn(self) -> float:
        """Memory per finished turn: the slope of the second half of the way."""
        half = self.memory[STEPS // 2 - 1 :]
        return statistics.linear_regression([count for count, _ in half], [kb * 1024 for _, kb in half]).slope


async def keep_house(bootstrap: str, turns: int, *, chars: int, history: bool, clean_s: float) -> Housekeeping:
    """Run everything, and return what was found; the log is given up to `clean_s` seconds to be cleaned."""
    connection, topic_names = Connection(bootstrap), Names(f"bench-{uuid.uuid4().hex[:8]}.")
    await TopicAdmin(connection, topic_names).create(PARTITIONS)
    settings = Settings(broker=bootstrap, prefix=topic_names.prefix, log_level="error")
    memory: list[tuple[int, int]] = []
    began = time.perf_counter()
    with running_worker(settings) as process:
        async with Crowd(connection, topic_names, chars=chars, history=history) as crowd:
            for step in range(STEPS):
                for first in range(step * turns // STEPS, (step + 1) * turns // STEPS, PAGE):
                    await crowd.run(first, min(PAGE, (step + 1) * turns // STEPS - first))
                await asyncio.sleep(1.0)
                memory.append(((step + 1) * turns // STEPS, memory_kb(process.pid)))
            seconds = time.perf_counter() - began
            dirty = await journal_size(bootstrap, topic_names)
            clean = dirty
            if clean_s:
                await force_cleaning(connection, topic_names)
            for _ in range(int(clean_s // 10)):
                # A segment is closed, and can be cleaned, only when something is written after its time.
                await crowd.run(turns, PARTITIONS * 3)
                await asyncio.sleep(10)
                before, clean = clean, await journal_size(bootstrap, topic_names)
                if clean[0] < dirty[0] / 2 and clean[0] >= before[0] * 0.98:
                    break
    return Housekeeping(turns, seconds, memory, dirty, clean)


async def measure(setting: Setting) -> Findings:
    """Measure finished turns as one of the groups: what is held of them until the log is cleaned, which takes long."""
    turns = QUICK_TURNS if setting.quick else TURNS

    async def finished() -> Values:
        found = await keep_house(setting.bootstrap, turns, chars=400, history=False, clean_s=0)
        return {
            Measure("memory per finished turn", "bytes", "less"): found.bytes_per_turn,
            Measure("journal records per finished turn, not cleaned", "records", "less"): found.dirty[0] / turns,
            Measure("journal bytes per finished turn, not cleaned", "bytes", "less"): found.dirty[1] / turns,
        }

    return await side_by_side(GROUP, [Contender(f"turn worker, {turns:,} turns", finished)], setting)


async def summary(bootstrap: str, turns: int, *, chars: int, history: bool) -> dict[str, object]:
    """Run everything, and return the figures in a few words."""
    found = await keep_house(bootstrap, turns, chars=chars, history=history, clean_s=CLEANING_S)
    dirty, clean = found.dirty, found.clean
    return {
        "finished_turns": turns,
        "seconds": round(found.seconds),
        "rss_mb": [round(kb / 1024, 1) for _, kb in found.memory],
        "rss_bytes_per_finished_turn": round(found.bytes_per_turn),
        "journal_per_finished_turn": {
            "records": round(dirty[0] / turns, 2),
            "bytes": round(dirty[1] / turns),
            "records_after_cleaning": round(clean[0] / turns, 2),
            "bytes_after_cleaning": round(clean[1] / turns),
        },
    }


async def _main(arguments: argparse.Namespace) -> None:
    options = {"chars": arguments.chars, "history": arguments.history}
    async with asyncio.timeout(LIMIT_S):
        if arguments.broker:
            figures = await summary(arguments.broker, arguments.turns, **options)
        else:
            async with EmbeddedBroker() as broker:
                figures = await summary(broker.bootstrap, arguments.turns, **options)
    print(json.dumps(figures, indent=2))


def main() -> None:
    """Parse the arguments and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", help="host:port; the embedded broker without it")
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--chars", type=int, default=400, help="half of an answer's length")
    parser.add_argument("--history", action="store_true", help="have the worker remember threads")
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
