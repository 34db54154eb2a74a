"""Turn workers to be measured: a pipeline's topics, one worker process on them, turns opened on it, turns ended by it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson

from bench import load
from bench.frames import PARTITIONS, Frame
from bench.processes import Running, module, running
from bench.rounds import FailedError
from streams.key_ring_settings import sealing_of
from streams.settings import Settings, environment
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.ids import TurnKey
from topics.names import FRAMES, PROMPTS, RELEASED_FRAMES, Names
from topics.sealing import Sealing

START_LIMIT_S = 60.0
#: The chain that most measurements have, and what a worker with it is called in tables.
SCANNING_DEPS = "bench.scanned:three"
SCANNING = "turn worker, three redactors and journal"


@dataclass(frozen=True, slots=True)
class Worker:
    """One turn worker that runs: its process, its topics, and a client of them."""

    bootstrap: str
    names: Names
    process: Running
    client: TurnClient
    sealing: Sealing
    settings: Settings

    def another(self) -> AbstractContextManager[Running]:
        """Run one more worker, on the same topics and with the same settings."""
        return running_worker(self.settings)

    @property
    def frames(self) -> str:
        """The topic that it reads frames from."""
        return self.names.topic(FRAMES)

    @property
    def released(self) -> str:
        """The topic that readers read."""
        return self.names.topic(RELEASED_FRAMES)

    def sealed(self, frame: Frame) -> Frame:
        """Return a frame as it is to be written: sealed, if the worker has keys."""
        return replace(frame, value=self.sealing.seal(self.frames, frame.key, frame.value) or frame.value)

    async def open_turns(self, turns: list[TurnKey]) -> None:
        """Submit turns, and return once each has its prompt: the worker waits for their frames."""
        for turn in turns:
            await self.client.submit("go", thread_id=turn.thread_id, turn_id=turn.turn_id)
        keys = {turn.thread.encode() for turn in turns}
        async with load.reading(self.bootstrap, self.names.topic(PROMPTS)) as reader:
            await load.wait_for(reader, len(turns), self.process, lambda one: one.key in keys, quiet_s=START_LIMIT_S)


@asynccontextmanager
async def worker(
    bootstrap: str, deps: str | None, *, partitions: int = PARTITIONS, **settings: Any
) -> AsyncIterator[Worker]:
    """Create topics of so many partitions, and run one turn worker with the chain `deps` (`module:attribute`) on them."""
    names = Names(f"bench-{uuid.uuid4().hex[:8]}.")
    given = Settings(**{"log_level": "error"} | settings, broker=bootstrap, prefix=names.prefix, deps=deps)
    sealing = sealing_of(given)
    connection = Connection(bootstrap, sealing=sealing)
    await TopicAdmin(connection, names).create(partitions)
    with running_worker(given) as process:
        async with TurnClient(connection, names) as client:
            yield Worker(bootstrap, names, process, client, sealing, given)


def running_worker(settings: Settings) -> AbstractContextManager[Running]:
    """Run one turn worker with these settings, and kill it at the end of the block."""
    return running(module("turngate", "worker", "--role", "turns"), env=environment(settings))


def restored(process: Running) -> int:
    """Return how many partitions a worker has restored since it started, as its log says at level `info`."""
    return process.printed.count(" restored: ")


def ends(value: bytes) -> int:
    """Return 1 if a released record ends its turn well, 0 if it does not end it.

    Raises:
        FailedError: it ends it otherwise.
    """
    if b'"kind":"text"' in value:
        return 0
    kind = orjson.loads(value)["kind"]
    if kind not in {"completed", "reset", "text"}:
        raise FailedError(f"a turn ended as {kind}")
    return int(kind == "completed")


async def journal_size(bootstrap: str, names: Names) -> tuple[int, int]:
    """Return how many records the turns' journal holds, and how many bytes their keys and values have.

    Tombstones count like all others. It waits until nothing more comes.
    """
    records = size = 0
    async with load.reading(bootstrap, names.journal("turns")) as reader:
        while batch := await reader.getmany(timeout_ms=1_500):
            for some in batch.values():
                records += len(some)
                size += sum(len(one.key or b"") + len(one.value or b"") for one in some)
    return records, size
