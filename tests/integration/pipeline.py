"""A pipeline of real processes on a broker: start workers, kill them, read what they release."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiokafka import TopicPartition

from streams.key_ring_settings import sealing_of
from streams.settings import Settings, environment
from topics import codec, names
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.errors import WireError
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import Names, Topic

ROOT = Path(__file__).resolve().parents[2]
READY_S = 60.0
COMMAND = (sys.executable, "-m", "turngate", "worker")


class Worker:
    """One worker process; what it logs goes to a file."""

    def __init__(self, role: str, settings: Settings, log: Path, command: Sequence[str] = COMMAND) -> None:
        self.role = role
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "--role", role], env=environment(settings), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
            )

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.poll() is None

    @property
    def claims(self) -> int:
        """How often it has claimed partitions so far: once for each rebalance of its group."""
        return self.log.read_text(encoding="utf-8", errors="replace").count(": claimed ")

    def kill(self) -> None:
        """Kill it without warning."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Stop it in its tracks, as a machine that hangs does."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused one go on, not knowing how long it was away."""
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Ask it to stop, and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


class Pipeline:
    """Topics under a prefix, and the workers of these tests; an async context manager that leaves nothing running."""

    def __init__(self, bootstrap: str, prefix: str, directory: Path, deps: str | None = None, **settings: Any) -> None:
        self.names = Names(prefix)
        self.settings = Settings(broker=bootstrap, prefix=prefix, deps=deps, script_enabled=True, **settings)
        self.connection = Connection(bootstrap, sealing=sealing_of(self.settings))
        self.directory = directory
        self.workers: list[Worker] = []
        self.client = TurnClient(self.connection, self.names)

    async def __aenter__(self) -> Self:
        await TopicAdmin(self.connection, self.names).create(self.settings.partitions, self.settings.replication)
        await self.client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.__aexit__(kind, error, trace)
        for worker in self.workers:
            worker.resume() if worker.alive else None
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in self.workers))
        if error is not None:
            for worker in self.workers:
                sys.stderr.write(f"--- {worker.log.name}\n{worker.log.read_text()[-4000:]}\n")

    def start(self, role: str, count: int = 1, *, command: Sequence[str] = COMMAND, **changes: Any) -> list[Worker]:
        """Start workers of a role, and return them at once; `changes` are to the pipeline's settings."""
        settings = self.settings.model_copy(update=changes)
        started = [
            Worker(role, settings, self.directory / f"{role}-{len(self.workers) + number}.log", command)
            for number in range(count)
        ]
        self.workers += started
        return started

    async def ready(self) -> None:
        """Return once a turn goes through on every partition."""
        threads = self.threads_of_every_partition()
        turns = [await self.submit("probe", thread, ["ready"]) for thread in threads]
        await self.read(turns, timeout_s=READY_S)

    def threads_of_every_partition(self) -> list[str]:
        """Return one thread id for each partition."""
        found: dict[int, str] = {}
        number = 0
        while len(found) < self.client.partitions:
            thread = f"probe-{number}"
            found.setdefault(TurnKey("default", thread, "x").thread.partition(self.client.partitions), thread)
            number += 1
        return list(found.values())

    async def submit(self, text: str, thread: str, script: Iterable[object], **fields: Any) -> TurnKey:
        """Submit a turn whose answer is scripted."""
        params = {"script": list(script)} | fields.pop("params", {})
        return await self.client.submit(text, thread_id=thread, params=params, **fields)

    async def read(self, turns: Iterable[TurnKey], *, timeout_s: float = 60.0) -> dict[TurnKey, TurnView]:
        """Fold everything released from the beginning until every one of `turns` is closed."""
        views = {turn: TurnView(turn) for turn in turns}
        async with asyncio.timeout(timeout_s), aclosing(self.client.follow_all(from_beginning=True)) as frames:
            async for frame in frames:
                if frame.turn in views:
                    views[frame.turn] = fold(views[frame.turn], frame)
                    assert not views[frame.turn].contradicted
                    if all(view.closed for view in views.values()):
                        break
        return views

    async def open_turn(self, thread: str) -> TurnKey:
        """Submit a turn whose model never answers, and return it once it waits for frames: the test writes them."""
        turn = await self.submit("hello", thread, [{"hang": True}])
        await self.wait_for_records(names.PROMPTS, lambda all_: any(one.turn == turn for one in all_))
        return turn

    async def send_raw(
        self, topic: Topic, turn: TurnKey, raw: bytes | None, *, with_ids: bool = True, partition: int | None = None
    ) -> None:
        """Publish `raw` where records of `turn` go; an object gets the turn's ids first, unless told otherwise."""
        if with_ids and raw is not None:
            ids = json.dumps({"thread_id": turn.thread_id, "turn_id": turn.turn_id}).encode()
            raw = ids[:-1] + b"," + raw[1:]
        where = turn.thread.partition(self.client.partitions) if partition is None else partition
        async with self.connection.producer() as producer:
            await producer.send_and_wait(self.names.topic(topic), raw, key=turn.thread.encode(), partition=where)

    async def records(self, topic: Topic) -> list[Any]:
        """Return all readable records that are on `topic` now."""
        return await self.wait_for_records(topic, lambda _: True)

    async def wait_for_records(
        self, topic: Topic, enough: Callable[[list[Any]], bool], *, timeout_s: float = 30.0
    ) -> list[Any]:
        """Return the readable records of `topic`, once they are `enough` and no more are coming at the moment."""
        found: list[Any] = []
        async with asyncio.timeout(timeout_s), self.connection.consumer() as consumer:
            full = self.names.topic(topic)
            consumer.assign([TopicPartition(full, number) for number in range(self.client.partitions)])
            while True:
                batch = await consumer.getmany(timeout_ms=300)
                if not batch and enough(found):
                    return found
                for some in batch.values():
                    for one in some:
                        with contextlib.suppress(WireError):
                            found.append(codec.decode(one.value, topic.shape))
