"""One round of what `bench.smoke` compares, for whichever tree it is run in; prints a line of JSON.

Figures are of processor time wherever they can be: what else runs on the machine counts little. What a tree has not got, or
has otherwise, is left out and named in `missing`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable

from bench import gate_ours, throughput, workers
from bench.gate_texts import frames_of, prose
from bench.recovery import PARTITIONS, desk_of, frame_source, request_source
from streams.brokers.embedded import EmbeddedBroker
from topics import codec
from topics.ids import TurnKey

CHARS = 20_000
DESK_TURNS, DESK_FRAMES = 50, 40
WORKER_TURNS, WORKER_FRAMES = 100, 100
GATE = "gate, characters per second of processor time, answer of 20,000"
SCANNERS = "scanners alone, characters per second of processor time"
DESK = "desk and journal, frames per second of processor time"
WORKER = "turn worker on the embedded broker, frames per second"
WORKER_CPU = "turn worker, frames per second of processor time"
_REPEATS = 5


async def gate() -> dict[str, float]:
    """Measure the gate with a chain that scans, from bytes to bytes."""
    frames = frames_of(prose(CHARS))
    run = gate_ours.FromBytesToBytes(gate_ours.redactors())
    run.prepare(frames)
    return {GATE: CHARS / await _best(lambda: run(frames, _ignore, _ignore))}


async def scanners() -> dict[str, float]:
    """Measure the scanners of the same chain without anything around them."""
    frames = frames_of(prose(CHARS))
    run = gate_ours.ScannersAlone(gate_ours.redactors())
    return {SCANNERS: CHARS / await _best(lambda: run(frames, _ignore, _ignore))}


async def desk() -> dict[str, float]:
    """Measure what the ingest loop does to a batch but for I/O: plan it, write the journal's records and the effects."""
    return {DESK: max(_desk() for _ in range(_REPEATS))}


def _desk() -> float:
    turns = [TurnKey("default", f"thread-{number}", f"turn-{number}") for number in range(DESK_TURNS * PARTITIONS)]
    turns = [turn for turn in turns if turn.thread.partition(PARTITIONS) == 0]
    desk = desk_of(workers.SCANNING_DEPS)
    desk.take([request_source(turn, number) for number, turn in enumerate(turns)], 0.0)
    batches = [[frame_source(turn, seq, seq) for turn in turns] for seq in range(DESK_FRAMES)]
    began = time.process_time()
    for batch in batches:
        plan = desk.take(batch, 0.0)
        for _, record in plan.journal:
            record.encode()
        for out in plan.outgoing:
            for effect in out.effects:
                codec.encode(effect.record)
            desk.confirmed(out.turn, out.n)
    return len(turns) * DESK_FRAMES / (time.process_time() - began)


async def worker() -> dict[str, float]:
    """Measure one turn worker with three redactors."""
    async with EmbeddedBroker() as broker:
        found = await throughput.through_worker(broker.bootstrap, workers.SCANNING_DEPS, WORKER_TURNS, WORKER_FRAMES)
    return {WORKER: found[throughput.SPEED], WORKER_CPU: 1e6 / found[throughput.PROCESSOR]}


async def main() -> None:
    """Measure everything once."""
    values: dict[str, float] = {}
    missing: list[str] = []
    probes: list[Callable[[], Awaitable[dict[str, float]]]] = [gate, scanners, desk, worker]
    for probe in probes:
        try:
            async with asyncio.timeout(60):
                values |= await probe()
        except Exception as error:  # noqa: BLE001 - the other tree may have it otherwise, and the rest still says something
            missing.append(f"{probe.__name__}: {type(error).__name__}: {str(error)[:300]}")
    print(json.dumps({"values": values, "missing": missing}))


async def _best(run: Callable[[], Awaitable[None]]) -> float:
    """Return the least of some times: what a warm run takes when nothing gets in its way."""
    times = []
    for _ in range(_REPEATS):
        began = time.process_time()
        await run()
        times.append(time.process_time() - began)
    return min(times)


def _ignore(_: object) -> None:
    """Take a release, or a frame's length, at no cost."""


if __name__ == "__main__":
    asyncio.run(main())
