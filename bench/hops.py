"""Programs that take frames from one topic and put them on another, each in a process of its own."""

from __future__ import annotations

import importlib.util
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from bench import load
from bench.frames import PARTITIONS, Frame, frame_of, turns
from bench.processes import ROOT, Running, module, running
from bench.rounds import AbsentError

#: Where Quix Streams is looked for if it is not installed beside turngate.
QUIX_VENV = ROOT / ".venv-bench-quix"
START_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Hop:
    """One such program: its name in tables, the module, and what it takes besides the broker's address and two topics."""

    name: str
    module: str
    arguments: tuple[str, ...] = ()
    #: Topics that must be there before it starts; `{source}` stands for the source topic.
    topics: tuple[str, ...] = ()
    #: The package that it needs, where that is not turngate's own.
    package: str | None = None

    def command(self, bootstrap: str, source: str, sink: str) -> list[str]:
        """Return the command to run. Raises `AbsentError` where its package is not installed."""
        python = python_with(self.package) if self.package else sys.executable
        return [python, *module(self.module, bootstrap, source, sink, *self.arguments)[1:]]


AIOKAFKA = Hop("bare aiokafka, JSON and a dict", "bench.hop_aiokafka")
FAUST = Hop("plain Faust, forwards only", "bench.hop_faust", (str(PARTITIONS), "forward"))
FAUST_TABLE = Hop(
    "stock Faust, table and send",
    "bench.hop_faust",
    (str(PARTITIONS), "table"),
    ("{source}-hop-states-changelog",),
)
QUIX = Hop("Quix Streams, state per key", "bench.hop_quix", package="quixstreams")


def python_with(package: str) -> str:
    """Return a Python that has `package`: this one, or that of a virtual environment made for it.

    Raises:
        AbsentError: neither has it.
    """
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    if (QUIX_VENV / "bin" / "python").exists() and list(QUIX_VENV.glob(f"lib/python*/site-packages/{package}")):
        return str(QUIX_VENV / "bin" / "python")
    raise AbsentError(f"{package} is not installed: `make bench` installs it")


@dataclass(frozen=True, slots=True)
class Open:
    """A program that runs and has its partitions: what it reads from and writes to, and a reader behind all it wrote."""

    source: str
    sink: str
    process: Running
    producer: AIOKafkaProducer
    reader: AIOKafkaConsumer


@asynccontextmanager
async def opened(hop: Hop, bootstrap: str) -> AsyncIterator[Open]:
    """Run a program, and yield once a frame has come through on every partition."""
    source, sink = (f"hop-{uuid.uuid4().hex[:8]}-{name}" for name in ("in", "out"))
    command = hop.command(bootstrap, source, sink)
    await load.create_topics(bootstrap, [source, sink, *(name.format(source=source) for name in hop.topics)])
    async with load.producing(bootstrap) as producer, load.reading(bootstrap, sink) as reader:
        with running(command) as process:
            probes = probe_frames()
            for frame in probes:
                await producer.send_and_wait(source, frame.value, key=frame.key, partition=frame.partition)
            await load.wait_for(reader, len(probes), process, quiet_s=START_LIMIT_S)
            yield Open(source, sink, process, producer, reader)


def probe_frames() -> list[Frame]:
    """Return a frame for each partition."""
    found: dict[int, Frame] = {}
    for turn in turns(20):
        frame = frame_of(turn, 0, "probe " * 20)
        found.setdefault(frame.partition, frame)
    return list(found.values())
