"""A pipeline of real processes on a broker: start workers, kill them, read what they release."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from streams.settings import Settings, environment
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.names import Names

ROOT = Path(__file__).resolve().parents[2]
READY_S = 60.0
COMMAND = (sys.executable, "-m", "streams.cli", "worker")


class Worker:
    """One worker process; what it logs goes to a file."""

    def __init__(self, role: str, settings: Settings, log: Path) -> None:
        command = [*COMMAND, "--role", role]
        self.log = log
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, env=environment(settings), cwd=ROOT, stdout=output, stderr=subprocess.STDOUT
            )

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
        self.connection = Connection(bootstrap)
        self.names = Names(prefix)
        self.settings = Settings(broker=bootstrap, prefix=prefix, deps=deps, script_enabled=True, **settings)
        self.directory = directory
        self.workers: list[Worker] = []
        self.client = TurnClient(self.connection, self.names)

    async def __aenter__(self) -> Self:
        await TopicAdmin(self.connection, self.names).create(self.settings.partitions)
        await self.client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.__aexit__(kind, error, trace)
        for worker in self.workers:
            worker.resume() if worker.process.poll() is None else None
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in self.workers))
        if error is not None:
            for worker in self.workers:
                sys.stderr.write(f"--- {worker.log.name}\n{worker.log.read_text()[-4000:]}\n")

    def start(self, role: str, count: int = 1) -> list[Worker]:
        """Start workers of a role, and return them at once."""
        started = [
            Worker(role, self.settings, self.directory / f"{role}-{len(self.workers) + number}.log")
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


def free_environment() -> dict[str, str]:
    """Return this process's environment without turngate's own variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TURNGATE_")}
