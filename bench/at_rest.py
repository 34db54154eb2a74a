"""What encryption at rest costs: a turn worker's processor time per frame with a key ring and without, side by side.

Run it as `python -m bench.at_rest [--broker host:port] [--frames N] [--turns N] [--rounds N]`; without a broker it starts
the embedded one. Each round measures both, in turns one first and then the other; the table gives medians, in microseconds.
Reads processor time from Linux' /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from aiokafka import TopicPartition

from bench.throughput import LIMIT_S, PARTITIONS, ROOT, Load, _ends, _send_frames, _turns
from streams.brokers.embedded import EmbeddedBroker
from streams.key_ring_settings import sealing_of
from streams.settings import Settings, environment
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.names import FRAMES, PROMPTS, Names

DEPS = "examples.redact_emails:deps"


async def worker_time(bootstrap: str, load: Load, ring: str | None) -> float:
    """Return the processor time that one turn worker spends per frame, its chain's processes left out, in microseconds."""
    names = Names(f"bench-{uuid.uuid4().hex[:8]}.")
    settings = Settings(broker=bootstrap, prefix=names.prefix, deps=DEPS, log_level="error", key_ring=ring)
    connection = Connection(bootstrap, sealing=sealing_of(settings))
    await TopicAdmin(connection, names).create(PARTITIONS)
    command = [sys.executable, "-m", "turngate", "worker", "--role", "turns"]
    process = subprocess.Popen(command, env=environment(settings), cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        async with TurnClient(connection, names) as client, connection.producer(linger_ms=2) as producer:
            turns = [
                await client.submit("go", thread_id=one.thread_id, turn_id=one.turn_id) for one in _turns(load.turns)
            ]
            async with connection.consumer() as reader:
                reader.assign([TopicPartition(names.topic(PROMPTS), number) for number in range(PARTITIONS)])
                prompts = 0
                while prompts < load.turns:
                    prompts += sum(map(len, (await reader.getmany(timeout_ms=500)).values()))
            before = _spent(process.pid)
            sending = asyncio.create_task(_send_frames(producer, names.topic(FRAMES), turns, load.frames))
            await _ends(client, turns)
            await sending
            return (_spent(process.pid) - before) / load.total * 1e6
    finally:
        process.kill()
        process.wait()


def _spent(pid: int) -> float:
    """Return the processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(bootstrap: str, load: Load, rounds: int) -> dict[str, object]:
    """Run both, and return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bench").write_text(os.urandom(32).hex(), encoding="ascii")
        contenders: dict[str, str | None] = {"plain": None, "sealed": folder}
        found: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(rounds):
            for name in list(contenders)[:: 1 if number % 2 == 0 else -1]:
                async with asyncio.timeout(LIMIT_S):
                    found[name].append(await worker_time(bootstrap, load, contenders[name]))
    pairs = zip(found["sealed"], found["plain"], strict=True)
    return {
        "worker_us_per_frame": {name: round(statistics.median(values), 1) for name, values in found.items()},
        "sealed_to_plain": round(statistics.median(sealed / plain for sealed, plain in pairs), 3),
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
    parser.add_argument("--rounds", type=int, default=5)
    asyncio.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
