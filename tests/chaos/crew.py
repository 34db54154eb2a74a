"""The workers of a chaos run: some of each role, brought back when they die, as a supervisor does."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.process import EXIT_FATAL
from tests.integration.pipeline import COMMAND, Pipeline, Worker

#: Longer than anything here takes on a machine that is merely slow.
LIMIT_S = 120.0
_LOOK_S = 0.1


async def eventually(true: Callable[[], bool], what: str) -> None:
    """Return once `true()` is; name `what` was waited for if it never is."""
    try:
        async with asyncio.timeout(LIMIT_S):
            while not true():  # noqa: ASYNC110 - log files and processes have no event to wait for
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        raise AssertionError(f"waited {LIMIT_S:g} s in vain: {what}") from None


@dataclass
class Member:
    """One place in the crew: who has it now, and what whoever takes it next is told."""

    role: str
    worker: Worker
    settings: dict[str, Any] = field(default_factory=dict)
    command: Sequence[str] = COMMAND


class Crew:
    """Turn workers and model runners of a pipeline. Those that end themselves with status 70 are started again.

    With `static`, each has a name of its own in its group, which whoever takes its place inherits.
    """

    def __init__(self, pipeline: Pipeline, *, static: bool = False) -> None:
        self._pipeline = pipeline
        self._static = static
        self._supervisor: asyncio.Task[None] | None = None
        self.members: list[Member] = []
        self.ended_themselves = 0

    def start(self, turns: int, models: int, *, turns_command: Sequence[str] = COMMAND) -> None:
        """Start so many of each, and supervise them."""
        for _ in range(turns):
            self.add("turns", command=turns_command)
        for _ in range(models):
            self.add("models")
        self._supervisor = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """Supervise no more; the pipeline stops the workers."""
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)

    def add(self, role: str, *, command: Sequence[str] = COMMAND, **settings: Any) -> Member:
        """Start one more of `role`, with these changes of the pipeline's settings."""
        if self._static:
            settings["static_member"] = f"{role}-{len(self.members)}"
        member = Member(role, self._new(role, command, settings), settings, command)
        self.members.append(member)
        return member

    def of(self, role: str) -> list[Member]:
        """Return the members of `role`, the longest serving first."""
        return [member for member in self.members if member.role == role]

    def replace(self, member: Member, *, command: Sequence[str] | None = None, **settings: Any) -> None:
        """Give the place of `member`, whose worker has ended, to a new worker."""
        member.command = command or member.command
        member.settings |= settings
        member.worker = self._new(member.role, member.command, member.settings)

    async def dismiss(self, member: Member) -> None:
        """Tell a member to stop, and give its place to nobody; it must end in good order."""
        self.members.remove(member)
        status = await asyncio.to_thread(member.worker.stop)
        assert status in (0, EXIT_FATAL), f"{member.worker.log.name} ended with {status}"

    async def settle(self) -> None:
        """Fill every empty place, and return once all have joined and a turn goes through on every partition."""
        for member in self.members:
            if not member.worker.alive:
                self.replace(member)
        await eventually(lambda: all(member.worker.claims for member in self.members), "all workers join")
        await self._pipeline.ready()

    def claims(self, role: str) -> int:
        """Return how often workers of `role` have claimed partitions so far: once for each rebalance and member."""
        return sum(worker.claims for worker in self._pipeline.workers if worker.role == role)

    def _new(self, role: str, command: Sequence[str], settings: dict[str, Any]) -> Worker:
        (worker,) = self._pipeline.start(role, command=command, **settings)
        return worker

    async def _supervise(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            for member in self.members:
                if member.worker.process.poll() == EXIT_FATAL:
                    self.ended_themselves += 1
                    sys.stderr.write(f"{member.worker.log.name} ended itself, and is started again\n")
                    self.replace(member)
