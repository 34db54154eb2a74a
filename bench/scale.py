"""What changes with one more worker, with more partitions, with many open turns, and with other kinds of chains.

Run it as `python -m bench.scale [--broker embedded|apache|host:port] [--rounds N] [--quick]`. Everyone is compared with one
turn worker on 4 partitions with 200 open turns and three redactors that scan. Frames are those of `bench.throughput`. They
are written while the workers stand still, and the clock runs from when they go on: who makes the load takes nothing from
them. Turns are chosen so that each partition has as many.

Two workers and their broker share the machine's cores, and on a machine with two of them nothing can be twice as fast. So
beside the clock stands what the workers would do with a core each: frames, divided by the processor time that a worker used
on the average.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from bench import load, workers
from bench.figures import Measure
from bench.frames import PARTITIONS, Frame, of_turns
from bench.groups import alone
from bench.processes import Running, cpu_s, memory_kb
from bench.rounds import Contender, FailedError, Findings, Setting, Values, side_by_side
from bench.workers import SCANNING_DEPS
from topics import codec, names
from topics.content import TextPart
from topics.ids import ThreadKey, TurnKey
from topics.records import TurnRequest

GROUP = "scale"
CLOCK = Measure("speed by the clock", "frames/s")
OWN_CORES = Measure("speed with a core for each worker", "frames/s")
MEMORY = Measure("memory per open turn", "kB", "less")
IDLE = Measure("processor time while nothing comes", "ms/s", "less")
BASE = "1 worker, 4 partitions, 200 open turns"
TURNS, FRAMES = 200, 1_600
QUICK_TURNS, QUICK_FRAMES = 20, 20
MANY_PARTITIONS = 64
MANY, QUICK_MANY, LARGE = 10_000, 300, 100_000
IDLE_S, QUICK_IDLE_S = 4.0, 0.5
#: What one measurement may take, in seconds: to open 100,000 turns takes a while.
LIMIT_S = 600.0
_LONG_S = 7_200.0
_READY_S = 90.0
#: Longer than workers stand still.
_SESSION_S = 30.0


@dataclass(frozen=True, slots=True)
class Load:
    """How much there is to do: `turns` with `frames` each; then how long to watch a worker that has nothing to do."""

    turns: int
    frames: int
    idle_s: float


@dataclass(frozen=True, slots=True)
class Shape:
    """What is measured: so many workers and partitions, a chain, and `idle` turns that are open and say nothing."""

    workers: int = 1
    partitions: int = PARTITIONS
    deps: str = SCANNING_DEPS
    idle: int = 0


def spread(count: int, partitions: int, start: int = 0) -> list[TurnKey]:
    """Return turns in threads of their own, of each partition as many, or one more; numbered from `start` on."""
    found: list[list[TurnKey]] = [[] for _ in range(partitions)]
    enough = -(-count // partitions)
    for number in itertools.count(start):
        at = ThreadKey("default", f"t-{number:03d}").partition(partitions)
        if len(found[at]) < enough:
            found[at].append(TurnKey("default", f"t-{number:03d}", f"u-{number:03d}"))
            if sum(map(len, found)) >= count:
                break
    return [turn for row in itertools.zip_longest(*found) for turn in row if turn is not None]


@asynccontextmanager
async def crew(bootstrap: str, shape: Shape) -> AsyncIterator[tuple[workers.Worker, list[Running]]]:
    """Yield a pipeline whose workers own their shares of the partitions, and their processes."""
    settings = {"log_level": "info", "max_open_turns": shape.idle + 10 * TURNS}
    settings |= {"turn_timeout_s": _LONG_S, "idle_timeout_s": _LONG_S, "session_timeout_s": _SESSION_S}
    async with AsyncExitStack() as stack:
        opened = workers.worker(bootstrap, shape.deps, partitions=shape.partitions, **settings)
        first = await stack.enter_async_context(opened)
        processes = [first.process]
        await _settled(lambda: workers.restored(first.process) >= shape.partitions, processes)
        for _ in range(shape.workers - 1):
            before = workers.restored(first.process)
            processes.append(stack.enter_context(first.another()))
            shares = shape.partitions // shape.workers

            def shared(before: int = before, shares: int = shares) -> bool:
                return workers.restored(processes[-1]) >= shares and workers.restored(first.process) >= before + shares

            await _settled(shared, processes)
        yield first, processes


async def _settled(reached: Callable[[], bool], processes: list[Running]) -> None:
    end = time.monotonic() + _READY_S
    while not reached():
        for process in processes:
            process.check()
        if time.monotonic() > end:
            raise FailedError(f"the workers did not share the partitions within {_READY_S:g} s")
        await asyncio.sleep(0.1)


async def open_turns(ours: workers.Worker, turns: list[TurnKey], partitions: int) -> None:
    """Submit turns, many at once, and return when each has its prompt."""
    requests = (
        Frame(turn, 0, "", codec.encode(TurnRequest(**turn._asdict(), message=(TextPart(text="go"),))), partitions)
        for turn in turns
    )
    async with (
        load.producing(ours.bootstrap) as producer,
        load.reading(ours.bootstrap, ours.names.topic(names.PROMPTS), partitions=partitions) as reader,
    ):
        batches = load.Batches(producer, requests)
        wanted = {turn.thread.encode() for turn in turns}
        sending = asyncio.create_task(batches.send(ours.names.topic(names.REQUESTS)))
        await load.wait_for(reader, len(turns), ours.process, lambda one: one.key in wanted, quiet_s=_READY_S)
        await sending


async def measured(bootstrap: str, shape: Shape, work: Load) -> Values:
    """Measure a crew: first how much open turns take while nothing comes, then frames until the last turn has ended."""
    turns = spread(work.turns, shape.partitions)
    async with crew(bootstrap, shape) as (ours, processes), load.producing(bootstrap) as producer:
        values: dict[Measure, float] = {}
        before = memory_kb(ours.process.pid)
        if shape.idle:
            await open_turns(ours, spread(shape.idle, shape.partitions, 1_000_000), shape.partitions)
        await open_turns(ours, turns, shape.partitions)
        await asyncio.sleep(1.0)
        if shape.idle:
            values[MEMORY] = max(memory_kb(ours.process.pid) - before, 0) / (shape.idle + work.turns)
        used, began = _cpu(processes), time.perf_counter()
        await asyncio.sleep(work.idle_s)
        values[IDLE] = (_cpu(processes) - used) / (time.perf_counter() - began) * 1e3
        batches = load.Batches(producer, of_turns(turns, work.frames, partitions=shape.partitions))
        # Of each turn one record, written right before its end: to read all that is released would be load of its own.
        ends = ours.names.topic(names.USAGE)
        async with load.reading(bootstrap, ends, partitions=shape.partitions) as reader:
            with ExitStack() as standing_still:
                for process in processes:
                    standing_still.enter_context(process.standing_still())
                await batches.send(ours.frames)
            used, began = _cpu(processes), time.perf_counter()
            await load.wait_for(reader, len(turns), ours.process, lambda record: completed(record.value))
            took, used = time.perf_counter() - began, _cpu(processes) - used
        values[CLOCK] = batches.frames / took
        values[OWN_CORES] = batches.frames / (used / len(processes))
        return values


def completed(usage: bytes) -> int:
    """Return 1 for the usage of a model call, of which each turn has one here.

    Raises:
        FailedError: the call did not complete.
    """
    if b'"outcome":"completed"' not in usage:
        raise FailedError(f"a model call ended as {codec.parse(usage)['outcome']}")
    return 1


def _cpu(processes: list[Running]) -> float:
    return sum(cpu_s(process.pid) for process in processes)


def contenders(setting: Setting) -> list[Contender]:
    """Return who takes part."""
    work = Load(QUICK_TURNS, QUICK_FRAMES, QUICK_IDLE_S) if setting.quick else Load(TURNS, FRAMES, IDLE_S)
    many = QUICK_MANY if setting.quick else MANY
    shapes = {
        BASE: Shape(),
        "2 workers": Shape(workers=2),
        f"{MANY_PARTITIONS} partitions": Shape(partitions=MANY_PARTITIONS),
        f"{many:,} more open turns": Shape(idle=many),
        "one redactor by passes, async": Shape(deps="bench.scale_chains:passes"),
    }
    if not setting.quick:
        shapes["one redactor by passes, not async"] = Shape(deps="bench.scale_chains:processes")
        shapes[f"{LARGE:,} more open turns"] = Shape(idle=LARGE)
        shapes["one redactor of whole answers, async"] = Shape(deps="bench.scale_chains:whole")
    return [
        Contender(name, partial(measured, setting.bootstrap, shape, work), None if name == BASE else BASE)
        for name, shape in shapes.items()
    ]


async def measure(setting: Setting) -> Findings:
    """Measure every contender, round after round; the broker is warm by then: a JVM that has just started is slow."""
    if not setting.quick:
        await side_by_side(GROUP, contenders(setting)[:2], replace(setting, rounds=1), limit_s=LIMIT_S)
    return await side_by_side(GROUP, contenders(setting), setting, limit_s=LIMIT_S)


if __name__ == "__main__":
    alone(GROUP)
