"""The worker processes of a pipeline on this machine: started, listened to, started again, stopped.

All of this belongs to the main thread: on Linux a child is killed when the thread that started it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from streams.cli.failures import FAILED, USAGE

Role = Literal["turns", "models", "tools"]

#: Statuses that come again on the next start: what is wrong is said in the child's output.
_HOPELESS: Final = frozenset({FAILED, USAGE})
#: Seconds before the first, second, ... start in a row; the last one repeats.
_BACKOFF_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0)
#: A process that ran for so many seconds is not in a row of failures any more.
_SETTLED_S: Final = 30.0
#: How long workers may take to stop in good order, in seconds.
_STOP_LIMIT_S: Final = 10.0
_LINE_LIMIT = 1 << 20

# The parent's sys.path, whatever made it, and -P, or the current directory might shadow our packages.
_ENTRY = (
    "import json, sys; owner, sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from streams.cli.child import main; main(owner)"
)


@dataclass(frozen=True, slots=True)
class Ended:
    """A member that ended in a way that starting it again would not mend, and its exit status."""

    name: str
    status: int


@dataclass(slots=True)
class _Member:
    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    directory: str | None
    process: asyncio.subprocess.Process | None = None
    failures: int = 0
    listening: set[asyncio.Task[None]] = field(default_factory=set)


class Crew:
    """Worker processes.

    `hear(name, line)` gets what they print; `tell(name, status)` is called when one has ended (a negative status is a
    signal's number) and will be started again.
    """

    def __init__(self, hear: Callable[[str, str], None], tell: Callable[[str, int], None]) -> None:
        self._hear = hear
        self._tell = tell
        self._members: list[_Member] = []
        self._watches: list[asyncio.Task[Ended]] = []

    async def add(self, name: str, role: Role, environment: Mapping[str, str], *, directory: str | None = None) -> None:
        """Start a worker of `role` in `environment` and `directory` (None: the current one), and keep it running."""
        await self.add_command(name, ("worker", "--role", role), environment, directory=directory)

    async def add_command(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], *, directory: str | None = None
    ) -> None:
        """The same with any command of turngate's that runs until it is stopped."""
        member = _Member(name, arguments, environment, directory)
        self._members.append(member)
        await self._start(member)
        self._watches.append(asyncio.create_task(self._watch(member)))

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of those that run, by name."""
        return {one.name: one.process.pid for one in self._members if one.process and one.process.returncode is None}

    async def broken(self) -> Ended:
        """Wait until a member has ended for good, and return which."""
        done, _ = await asyncio.wait(self._watches, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()

    async def stop(self) -> None:
        """Stop all in good order, or kill them after a while; harmless when stopped."""
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)
        await asyncio.gather(*(self._stop(member) for member in self._members))

    async def _start(self, member: _Member) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-c",
            _ENTRY,
            json.dumps([os.getpid(), _search_path()]),
            *member.arguments,
            env=dict(member.environment),
            cwd=member.directory,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LINE_LIMIT,
            start_new_session=True,  # Ctrl-C is for the owner, which stops its workers in order
        )
        member.process = process
        task = asyncio.create_task(self._listen(member.name, process))
        member.listening.add(task)
        task.add_done_callback(member.listening.discard)

    async def _watch(self, member: _Member) -> Ended:
        """Start a member again and again until that is of no use."""
        loop = asyncio.get_running_loop()
        while True:
            if member.process is None:
                raise RuntimeError("a member is watched that was never started")
            began = loop.time()
            status = await member.process.wait()
            if status in _HOPELESS:
                if member.listening:
                    await asyncio.wait(member.listening, timeout=1.0)  # for its last words
                return Ended(member.name, status)
            if loop.time() - began > _SETTLED_S:
                member.failures = 0
            self._tell(member.name, status)
            await asyncio.sleep(_BACKOFF_S[min(member.failures, len(_BACKOFF_S) - 1)])
            member.failures += 1
            await self._start(member)

    async def _listen(self, name: str, process: asyncio.subprocess.Process) -> None:
        stream = process.stdout
        if stream is None:
            return
        while True:
            try:
                line = await stream.readline()
            except ValueError:  # a line beyond all measure: its beginning has been dropped
                continue
            if not line:
                return
            self._hear(name, line.decode(errors="replace").rstrip())

    async def _stop(self, member: _Member) -> None:
        process = member.process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(_STOP_LIMIT_S):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if process.stdin is not None:
            process.stdin.close()
        if member.listening:
            await asyncio.wait(member.listening, timeout=1.0)


def _search_path() -> list[str]:
    """Return where this process looks for modules, whatever directory a child is started in."""
    return [str(Path(entry).absolute()) for entry in sys.path]
