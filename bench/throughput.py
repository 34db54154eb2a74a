"""Frames per second of one turn worker beside a plain Faust agent that only forwards, and what the journal costs.

Run it as `python -m bench.throughput [--broker host:port] [--frames N] [--turns N] [--rounds N]`; without a broker it
starts the embedded one. Each round measures every contender once, one after the other; the table gives medians, and
ratios to the plain agent of the same round. The load generator runs in this process and is the same for all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from streams.brokers.embedded import EmbeddedBroker
from streams.settings import Settings, environment
from topics import codec
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import FRAMES, PROMPTS, Names
from topics.records import ModelFrame

ROOT = Path(__file__).resolve().parents[1]
PARTITIONS = 4
TEXT = "word and word again "
LIMIT_S = 180
JOURNAL_LENGTHS = (2_000, 20_000, 100_000)


@dataclass(frozen=True, slots=True)
class Load:
    """`turns` answers of `frames` frames each, interleaved."""

    turns: int
    frames: int

    @property
    def total(self) -> int:
        """The number of frames."""
        return self.turns * self.frames


async def plain_agent(bootstrap: str, load: Load) -> float:
    """Return frames per second of a plain forwarding agent."""
    source, sink = (f"plain-{uuid.uuid4().hex[:8]}-{name}" for name in ("in", "out"))
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (source, sink)])
    await admin.close()
    command = [sys.executable, "-m", "bench.plain_agent", bootstrap, source, sink, str(PARTITIONS)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with _consumer(bootstrap, sink) as reader, _producer(bootstrap) as producer:
            await producer.send_and_wait(source, b"probe", key=b"probe")
            await _count(reader, 1)
            began = time.perf_counter()
            sending = asyncio.create_task(_send_frames(producer, source, _turns(load.turns), load.frames))
            await _count(reader, load.total)
            await sending
            return load.total / (time.perf_counter() - began)
    finally:
        process.kill()
        process.wait()


async def turn_worker(bootstrap: str, load: Load, deps: str | None) -> float:
    """Return frames per second of one turn worker, from the first frame to the last turn's end."""
    async with _worker(bootstrap, deps) as (names, client):
        turns = await _open_turns(bootstrap, names, client, load.turns)
        async with _producer(bootstrap) as producer:
            began = time.perf_counter()
            sending = asyncio.create_task(_send_frames(producer, names.topic(FRAMES), turns, load.frames))
            await _ends(client, turns)
            await sending
            return load.total / (time.perf_counter() - began)


async def journal_cost(bootstrap: str, chars: int, deps: str | None) -> tuple[float, int]:
    """Return the journal's bytes per byte of one answer of `chars` characters, and its number of records."""
    async with _worker(bootstrap, deps) as (names, client):
        turns = await _open_turns(bootstrap, names, client, 1)
        async with _producer(bootstrap) as producer:
            await _send_frames(producer, names.topic(FRAMES), turns, chars // len(TEXT), pause_s=0.002)
            await _ends(client, turns)
        await asyncio.sleep(1.0)
        size = records = 0
        async with _consumer(bootstrap, names.journal("turns")) as reader:
            while batch := await reader.getmany(timeout_ms=1_000):
                for some in batch.values():
                    records += len(some)
                    size += sum(len(one.key or b"") + len(one.value or b"") for one in some)
        return size / chars, records


# -- the pieces -------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _worker(bootstrap: str, deps: str | None) -> AsyncIterator[tuple[Names, TurnClient]]:
    names = Names(f"bench-{uuid.uuid4().hex[:8]}.")
    connection = Connection(bootstrap)
    await TopicAdmin(connection, names).create(PARTITIONS)
    settings = Settings(broker=bootstrap, prefix=names.prefix, deps=deps, log_level="error")
    command = [sys.executable, "-m", "turngate", "worker", "--role", "turns"]
    process = subprocess.Popen(command, env=environment(settings), cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        async with TurnClient(connection, names) as client:
            yield names, client
    finally:
        process.kill()
        process.wait()


async def _open_turns(bootstrap: str, names: Names, client: TurnClient, count: int) -> list[TurnKey]:
    """Submit turns, and return them once each has its prompt: the worker waits for their frames."""
    turns = [await client.submit("go", thread_id=turn.thread_id, turn_id=turn.turn_id) for turn in _turns(count)]
    async with _consumer(bootstrap, names.topic(PROMPTS)) as reader:
        await _count(reader, count)
    return turns


def _turns(count: int) -> list[TurnKey]:
    return [TurnKey("default", f"thread-{number}", f"turn-{number}") for number in range(count)]


async def _send_frames(
    producer: aiokafka.AIOKafkaProducer, topic: str, turns: Sequence[TurnKey], frames: int, pause_s: float = 0.0
) -> None:
    for seq in range(frames):
        for turn in turns:
            frame = ModelFrame(
                tenant=turn.tenant,
                thread_id=turn.thread_id,
                turn_id=turn.turn_id,
                seq=seq,
                text=TEXT,
                finish_reason="stop" if seq == frames - 1 else None,
            )
            partition = turn.thread.partition(PARTITIONS)
            await producer.send(topic, codec.encode(frame), key=turn.thread.encode(), partition=partition)
        if pause_s:
            await asyncio.sleep(pause_s)
    await producer.flush()


async def _ends(client: TurnClient, turns: Sequence[TurnKey]) -> None:
    views = {turn: TurnView(turn) for turn in turns}
    open_turns = len(views)
    async for frame in client.follow_all(from_beginning=True):
        view = views[frame.turn]
        views[frame.turn] = fold(view, frame)
        if views[frame.turn].closed and not view.closed:
            open_turns -= 1
            if not open_turns:
                return


async def _count(reader: aiokafka.AIOKafkaConsumer, wanted: int) -> None:
    while wanted > 0:
        batch = await reader.getmany(timeout_ms=500)
        wanted -= sum(len(some) for some in batch.values())


@asynccontextmanager
async def _consumer(bootstrap: str, topic: str) -> AsyncIterator[aiokafka.AIOKafkaConsumer]:
    consumer = aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=50, max_poll_records=5_000
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


@asynccontextmanager
async def _producer(bootstrap: str) -> AsyncIterator[aiokafka.AIOKafkaProducer]:
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=2)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def measure(bootstrap: str, load: Load, rounds: int) -> dict[str, object]:
    """Run everything, and return the figures."""
    contenders = {
        "plain Faust agent, forwards": lambda: plain_agent(bootstrap, load),
        "turn worker, no processors": lambda: turn_worker(bootstrap, load, None),
        "turn worker, redactor, incremental": lambda: turn_worker(bootstrap, load, "examples.redact_emails:deps"),
    }
    speeds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            async with asyncio.timeout(LIMIT_S):
                speeds[name].append(await run())
    plain, *_ = speeds.values()
    costs = {chars: await journal_cost(bootstrap, chars, "examples.redact_emails:deps") for chars in JOURNAL_LENGTHS}
    return {
        "frames_per_second": {name: round(statistics.median(values)) for name, values in speeds.items()},
        "ratio_to_plain_agent": {
            name: round(statistics.median(mine / base for mine, base in zip(values, plain, strict=True)), 2)
            for name, values in speeds.items()
        },
        "journal_bytes_per_answer_byte": {
            str(chars): {"bytes_per_byte": round(cost, 2), "records": records}
            for chars, (cost, records) in costs.items()
        },
    }


async def _main(arguments: argparse.Namespace) -> None:
    load = Load(arguments.turns, arguments.frames)
    if arguments.broker:
        figures = await measure(arguments.broker, load, arguments.rounds)
    else:
        async with EmbeddedBroker() as broker:
            figures = await measure(broker.bootstrap, load, arguments.rounds)
    print(json.dumps(figures, indent=2))


def main() -> None:
    """Parse the arguments and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", help="host:port; the embedded broker without it")
    parser.add_argument("--turns", type=int, default=100, help="turns, interleaved")
    parser.add_argument("--frames", type=int, default=100, help="frames per turn")
    parser.add_argument("--rounds", type=int, default=3)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
