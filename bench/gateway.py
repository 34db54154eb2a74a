"""Many readers at one gateway, beside a plain Kafka reader of the same records.

    python -m bench.gateway [--readers 1000] [--turns 1000] [--seconds 20] [--every 2] [--broker host:port]

Released frames are written as turn workers write them, each with the time at which it was handed to the producer. A plain
consumer of the topic, in a process of its own, says how old a record is when it is read; each of the readers over HTTP, in
another process, how old a text is when it has arrived. The difference is what the gateway adds. Every reader's text is
compared with what was written: a lost, doubled or foreign character ends the run with an error. Of the gateway's process
the memory is shown before there are readers, with them, and at its highest.
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
from dataclasses import dataclass

from aiokafka import TopicPartition

from bench.figures import Measure
from bench.processes import cpu_s, memory_kb
from bench.rounds import Contender, Findings, Setting, Values, figures_of
from streams.brokers import ports
from streams.brokers.embedded import EmbeddedBroker
from streams.gateway.ids import public_id
from streams.settings import Settings, environment
from topics import codec, names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.ids import TurnKey
from topics.names import Names
from topics.records import CompletedFrame, ReleasedFrame, TextFrame

PREFIX = "bench-gateway."
PARTITIONS = 4
#: How long readers may take to have everything after the last record was written, in seconds.
_PATIENCE_S = 60.0
_MARK = "|"
GROUP = "gateway"
BASE, OURS = "a plain Kafka reader", "a reader over HTTP at the gateway"
#: Readers, each of a turn of its own; for how many seconds; seconds between two frames of a turn.
USUAL, QUICK = (1_000, 10.0, 2.0), (20, 2.0, 0.2)
MEDIAN = Measure("age of a text, median", "ms", "less")
LAST = Measure("age of a text, 99th percentile", "ms", "less")
MEMORY = Measure("memory of the gateway at most", "MB", "less")
BUSY = Measure("processor of the gateway while records come", "% of one core", "less")


@dataclass(frozen=True)
class Load:
    """What is asked of the gateway: `every` is the time between two frames of a turn, in seconds."""

    readers: int
    turns: int
    seconds: float
    every: float
    prefix: str

    @property
    def frames(self) -> int:
        """How many texts a turn has."""
        return max(1, round(self.seconds / self.every))

    def turn(self, number: int) -> TurnKey:
        """Return the turn that a reader of this number reads."""
        return TurnKey("default", f"thread-{number % self.turns}", "turn")


def arguments() -> tuple[Load, str | None, str | None]:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--readers", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two frames of a turn")
    parser.add_argument("--broker", help="host:port; without it an embedded broker is started")
    parser.add_argument("--prefix", default=PREFIX, help=argparse.SUPPRESS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    return Load(given.readers, given.turns, given.seconds, given.every, given.prefix), given.broker, given.part


def ages_in(text: str, now: int) -> list[float]:
    """Return how old the pieces of a text are, in milliseconds."""
    return [(now - int(piece)) / 1e6 for piece in text.split(_MARK) if piece]


# -- the two kinds of readers, each in a process of its own -----------------------------------------------------------


async def read_kafka(load: Load, bootstrap: str) -> list[float]:
    """Read the topic as one consumer, and return the age of every text."""
    ages: list[float] = []
    ended = 0
    topic = Names(load.prefix).topic(names.RELEASED_FRAMES)
    async with Connection(bootstrap).consumer() as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(PARTITIONS)])
        await consumer.seek_to_beginning()
        _say("reading")
        while ended < load.turns:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                now = time.monotonic_ns()
                for record in records:
                    frame = codec.decode(record.value, names.RELEASED)
                    if isinstance(frame, TextFrame):
                        ages += ages_in(frame.text, now)
                    else:
                        ended += 1
    return ages


async def read_http(load: Load, port: int) -> list[float]:
    """Follow one turn with each reader, and return the age of every text; raises if a text is not what was written."""
    ages: list[float] = []
    texts: dict[int, str] = {}
    open_ = 0
    all_open = asyncio.Event()

    async def follow(number: int) -> None:
        nonlocal open_
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        path = f"/v1/turns/{public_id(load.turn(number))}/events"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        text = ""
        while line := await reader.readline():
            if line.startswith(b"retry:"):
                open_ += 1
                if open_ == load.readers:
                    all_open.set()
            if not line.startswith(b"data: "):
                continue
            frame = json.loads(line[6:])
            if frame["kind"] == "completed":
                break
            if frame["offset"] != len(text):
                raise SystemExit(
                    f"reader {number}: a text at {frame['offset']}, and {len(text)} characters came before it"
                )
            ages.extend(ages_in(frame["text"], time.monotonic_ns()))
            text += frame["text"]
        texts[number] = text
        writer.close()

    async def say() -> None:
        await all_open.wait()
        _say("reading")

    tasks = [asyncio.create_task(follow(number)) for number in range(load.readers)]
    saying = asyncio.create_task(say())
    await asyncio.gather(*tasks)
    await saying
    by_turn: dict[int, set[str]] = {}
    for number, text in texts.items():
        by_turn.setdefault(number % load.turns, set()).add(text)
        if text.count(_MARK) != load.frames:
            raise SystemExit(f"reader {number}: {text.count(_MARK)} texts came, and {load.frames} were written")
    if any(len(found) != 1 for found in by_turn.values()):
        raise SystemExit("readers of one turn have different texts")
    return ages


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


# -- the run ----------------------------------------------------------------------------------------------------------


async def write(load: Load, bootstrap: str) -> None:
    """Write the frames of all turns, spread evenly over time."""
    topic = Names(load.prefix).topic(names.RELEASED_FRAMES)
    lengths = [0] * load.turns
    async with Connection(bootstrap).producer(linger_ms=5) as producer:

        async def put(frame: ReleasedFrame) -> None:
            thread = frame.turn.thread
            await producer.send(topic, codec.encode(frame), key=thread.encode(), partition=thread.partition(PARTITIONS))

        began = time.monotonic()
        for round_ in range(load.frames):
            for number in range(load.turns):
                due = began + (round_ + number / load.turns) * load.every
                if (wait := due - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                text = f"{time.monotonic_ns()}{_MARK}"
                await put(TextFrame(**load.turn(number)._asdict(), offset=lengths[number], text=text))
                lengths[number] += len(text)
        for number, length in enumerate(lengths):
            end = CompletedFrame(**load.turn(number)._asdict(), offset=length, length=length, finish_reason="stop")
            await put(end)
        await producer.flush()


async def part(load: Load, name: str, place: str) -> asyncio.subprocess.Process:
    """Start readers of one kind in a process of their own, and return it once they read."""
    numbers = [f"--{field}={getattr(load, field)}" for field in ("readers", "turns", "seconds", "every", "prefix")]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bench.gateway",
        "--part",
        f"{name}={place}",
        *numbers,
        stdout=subprocess.PIPE,
        limit=1 << 26,
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    if (await process.stdout.readline()).strip() != b"reading":
        raise SystemExit(f"the readers of {name} did not start")
    return process


async def ages_of(process: asyncio.subprocess.Process) -> list[float]:
    """Return what readers found."""
    async with asyncio.timeout(_PATIENCE_S):
        out, _ = await process.communicate()
    if process.returncode != 0:
        raise SystemExit("readers did not get what was written")
    found: list[float] = json.loads(out)
    return found


@dataclass(frozen=True)
class Read:
    """What was found: ages of texts in milliseconds with a plain reader and through the gateway; the gateway's memory in MB.

    `busy` is its share of one core while records came.
    """

    plain: list[float]
    through: list[float]
    memory: tuple[float, float, float]
    busy: float


async def run(load: Load, bootstrap: str) -> Read:
    """Measure."""
    await TopicAdmin(Connection(bootstrap), Names(load.prefix)).create(PARTITIONS, 1)
    port = ports.free_port()
    settings = Settings(
        broker=bootstrap,
        prefix=load.prefix,
        gateway_port=port,
        gateway_open=True,
        gateway_streams_per_key=load.readers,
        gateway_max_streams=load.readers,
        gateway_requests_per_minute=1_000_000,
    )
    gateway = subprocess.Popen([sys.executable, "-m", "turngate", "gateway"], env=environment(settings))
    try:
        while not ports.is_open(port):  # noqa: ASYNC110 - another process has no event to await
            await asyncio.sleep(0.1)
        idle = memory_kb(gateway.pid) / 1024
        kafka = await part(load, "kafka", bootstrap)
        http = await part(load, "http", str(port))
        reading, used, began = memory_kb(gateway.pid) / 1024, cpu_s(gateway.pid), time.monotonic()
        await write(load, bootstrap)
        busy = (cpu_s(gateway.pid) - used) / (time.monotonic() - began)
        plain, through = await asyncio.gather(ages_of(kafka), ages_of(http))
        highest = memory_kb(gateway.pid, "VmHWM") / 1024
    finally:
        gateway.terminate()
        gateway.wait()
    return Read(plain, through, (idle, reading, highest), busy)


async def measure(setting: Setting) -> Findings:
    """Measure readers as one of the groups."""
    found: dict[str, list[Values]] = {BASE: [], OURS: []}
    for number in range(setting.rounds):
        readers, seconds, every = QUICK if setting.quick else USUAL
        load = Load(readers, readers, seconds, every, f"{PREFIX}{uuid.uuid4().hex[:8]}.")
        read = await run(load, setting.bootstrap)
        for name, ages in ((BASE, read.plain), (OURS, read.through)):
            cuts = statistics.quantiles(ages, n=100)
            found[name].append({MEDIAN: cuts[49], LAST: cuts[98]})
        found[OURS][-1] = {**found[OURS][-1], MEMORY: read.memory[2], BUSY: read.busy * 100}
        setting.say(f"  {GROUP}, round {number + 1} of {setting.rounds}: {readers} readers")
    return Findings(figures_of(GROUP, [Contender(name, _nothing, BASE) for name in found], found))


async def _nothing() -> Values:
    """Stand in for a contender that was measured together with another one."""
    return {}


def show(load: Load, read: Read) -> None:
    """Print what was found."""
    plain, through = read.plain, read.through
    rate = load.turns / load.every
    print(
        f"{load.readers} readers of {load.turns} turns, {rate:.0f} records/s, {rate * load.readers / load.turns:.0f} "
        f"texts/s to readers; every reader has every character"
    )
    print(f"{'ms from the producer to':28}{'p50':>8}{'p90':>8}{'p99':>8}{'max':>8}")
    rows = {"a plain Kafka reader": plain, "a reader of the gateway": through}
    cuts = {name: statistics.quantiles(ages, n=100) for name, ages in rows.items()}
    for name, ages in rows.items():
        print(f"{name:28}{cuts[name][49]:8.1f}{cuts[name][89]:8.1f}{cuts[name][98]:8.1f}{max(ages):8.1f}")
    added = [cuts["a reader of the gateway"][at] - cuts["a plain Kafka reader"][at] for at in (49, 89, 98)]
    print(f"{'added by the gateway':28}" + "".join(f"{value:8.1f}" for value in added))
    idle, reading, highest = read.memory
    print(f"memory of the gateway: {idle:.0f} MB before, {reading:.0f} MB with the readers, {highest:.0f} MB at most")
    print(f"processor: {read.busy:.0%} of one core while records came")


async def main() -> None:
    """Run the benchmark, or one part of it."""
    load, broker, asked = arguments()
    if asked is not None:
        name, _, place = asked.partition("=")
        ages = await (read_kafka(load, place) if name == "kafka" else read_http(load, int(place)))
        _say(json.dumps([round(age, 3) for age in ages]))
    elif broker is not None:
        show(load, await run(load, broker))
    else:
        async with EmbeddedBroker() as own:
            show(load, await run(load, own.bootstrap))


if __name__ == "__main__":
    asyncio.run(main())
