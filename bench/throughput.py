"""Frames per second of one turn worker beside others that take records from one topic and put them on another.

Run it as `python -m bench.throughput [--broker embedded|apache|host:port] [--rounds N] [--quick]`. Everyone gets the same
frames, 89 bytes each on the wire, of 200 turns that are interleaved. The clock runs from the first frame sent until the
last one, or what became of it, is readable. Frames are sent in batches made before, and readers only count: on two cores
who measures must not be what is measured. The slow ones get fewer frames. Beside the clock stands the processor time that
the contender's own processes used per frame, which minds no others on the machine.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial

from bench import hops, load, workers
from bench.figures import Measure
from bench.frames import interleaved, turns
from bench.groups import alone
from bench.hops import Hop
from bench.processes import cpu_s
from bench.rounds import Contender, Findings, Setting, Values, side_by_side

GROUP = "throughput"
SPEED = Measure("speed", "frames/s")
PROCESSOR = Measure("processor time per frame", "us", "less")
BASE = hops.FAUST_TABLE.name
TURNS = 200
#: Frames per turn, for the slow and for the fast: each is to be measured for some seconds.
FEW, MANY = 50, 200
QUICK_TURNS, QUICK_FRAMES = 20, 20
#: Microseconds in a second.
_US = 1e6


async def through_hop(hop: Hop, bootstrap: str, count: int, frames: int) -> Values:
    """Measure a program that forwards frames: `frames` of each of `count` turns."""
    async with hops.opened(hop, bootstrap) as through:
        batches = load.Batches(through.producer, interleaved(count, frames))
        used, began = cpu_s(through.process.pid), time.perf_counter()
        sending = asyncio.create_task(batches.send(through.source))
        await load.wait_for(through.reader, batches.frames, through.process)
        took, used = time.perf_counter() - began, cpu_s(through.process.pid) - used
        await sending
        return {SPEED: batches.frames / took, PROCESSOR: used / batches.frames * _US}


async def through_worker(
    bootstrap: str, deps: str | None, count: int, frames: int, key_ring: str | None = None
) -> Values:
    """Measure a turn worker with a chain, from the first frame to the end of the last turn."""
    async with workers.worker(bootstrap, deps, key_ring=key_ring) as ours, load.producing(bootstrap) as producer:
        await ours.open_turns(turns(count))
        batches = load.Batches(producer, map(ours.sealed, interleaved(count, frames)))
        async with load.reading(bootstrap, ours.released) as reader:
            used, began = cpu_s(ours.process.pid), time.perf_counter()
            sending = asyncio.create_task(batches.send(ours.frames))
            await load.wait_for(reader, count, ours.process, lambda record: workers.ends(record.value))
            took, used = time.perf_counter() - began, cpu_s(ours.process.pid) - used
            await sending
        return {SPEED: batches.frames / took, PROCESSOR: used / batches.frames * _US}


def contenders(setting: Setting) -> list[Contender]:
    """Return who takes part."""
    count = QUICK_TURNS if setting.quick else TURNS
    few, many = (QUICK_FRAMES, QUICK_FRAMES) if setting.quick else (FEW, MANY)

    def hop(which: Hop, frames: int, *, peer: bool = True) -> Contender:
        return Contender(which.name, partial(through_hop, which, setting.bootstrap, count, frames), BASE, peer)

    def worker(name: str, deps: str | None) -> Contender:
        return Contender(name, partial(through_worker, setting.bootstrap, deps, count, many), BASE)

    return [
        hop(hops.FAUST_TABLE, few),
        hop(hops.FAUST, few),
        hop(hops.AIOKAFKA, many, peer=False),
        hop(hops.QUIX, many),
        worker("turn worker, no processors", None),
        worker(workers.SCANNING, workers.SCANNING_DEPS),
    ]


async def measure(setting: Setting) -> Findings:
    """Measure every contender, round after round."""
    return await side_by_side(GROUP, contenders(setting), setting)


if __name__ == "__main__":
    alone(GROUP)
