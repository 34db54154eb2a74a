"""Tools run in child processes that can be killed, so that none can hold up the runner or take it down.

*Sync tools* have a process to themselves while they run. There are `workers` of these; while all of them are busy, sync
calls wait in order. A tool that goes over its limit is killed with its process, and a new one takes its place, so a
tool that hangs costs a process for the length of its limit and no more.

*Async tools* share one more process, and are cancelled there when their limit is over. One that blocks the event loop
there holds up the others; it is killed with the process a second after its limit, and the calls that were in it with it
have crashed: whether they took effect nobody knows. Nothing is ever called again.

Processes are started for what is declared only. One that cannot be replaced after some tries is fatal: the worker's next
start says why.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from processors.errors import DepsError
from processors.manifest import Manifest
from processors.policy import FailurePolicy
from processors.tools import ToolSpec
from streams.chains.children import Child
from streams.chains.errors import ChainsError
from streams.chains.wire import Boot, CallTool, Drop, FromChild, ToolDone
from streams.tools.answers import CRASHED, TOO_LATE, ToolAnswer, refused, timed_out
from streams.tools.ports import ToolJob

_log = logging.getLogger(__name__)

#: How much longer than its limit an async tool gets before its process is held to be stuck, in seconds.
_GRACE_S = 1.0
#: Seconds before the first, second, ... try to replace a process; after the last one that is given up.
_BACKOFF_S = (0.0, 0.2, 1.0, 5.0)


class NoToolsError(DepsError):
    """A tool runner was started for a `Deps` without tools."""


class _Call:
    """A call that a process is working on."""

    __slots__ = ("answer", "limit_s", "timer")

    def __init__(self, answer: asyncio.Future[ToolAnswer], limit_s: float) -> None:
        self.answer = answer
        self.limit_s = limit_s
        self.timer: asyncio.TimerHandle | None = None

    def end(self, answer: ToolAnswer | None) -> None:
        """Say what the call came to, to whoever still waits."""
        if self.timer is not None:
            self.timer.cancel()
        if answer is not None and not self.answer.done():
            self.answer.set_result(answer)


class _Seat:
    """A process that is up, and the calls in it; `culprit` is the one that it is killed for."""

    __slots__ = ("calls", "child", "culprit", "shared")

    def __init__(self, child: Child, *, shared: bool) -> None:
        self.child = child
        self.shared = shared
        self.calls: dict[int, _Call] = {}
        self.culprit: int | None = None

    def kill(self, culprit: int) -> None:
        """Kill the process because of one of its calls."""
        if self.culprit is None:
            self.culprit = culprit
            self.child.kill()


class ToolProcesses:
    """A `ToolHost` whose tools are those of the `Deps` at `spec`, looked for in `paths` as `load_deps` does.

    `workers` bounds the sync tools that run at once. A result may have `max_chars` characters. `now` returns seconds
    since the epoch. A process may take `boot_timeout_s` seconds to load the `Deps`. Belongs to the event loop, and the
    thread, in which `start` is called.
    """

    def __init__(
        self,
        spec: str,
        *,
        workers: int,
        max_chars: int,
        on_fatal: Callable[[BaseException], None],
        now: Callable[[], float],
        paths: Sequence[str | Path] = (),
        boot_timeout_s: float = 60.0,
    ) -> None:
        self._boot = Boot(
            spec, tuple(str(path) for path in paths), FailurePolicy(), debug=_log.isEnabledFor(logging.DEBUG)
        )
        self._workers = workers
        self._max_chars = max_chars
        self._on_fatal = on_fatal
        self._now = now
        self._boot_timeout_s = boot_timeout_s
        self._tools: dict[str, ToolSpec] = {}
        self._seats: dict[Child, _Seat] = {}
        self._idle: asyncio.Queue[_Seat] = asyncio.Queue()
        self._shared: asyncio.Future[_Seat] = asyncio.get_running_loop().create_future()
        self._replacing: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._stopped = False

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """What there is, by name; empty before `start`."""
        return self._tools

    async def start(self) -> None:
        """Start the processes that the declared tools need, and wait until each has loaded them.

        Raises:
            DepsError: the tools cannot be loaded, or there are none (`NoToolsError`).
            ChainStartError: a process did not come up.
        """
        try:
            first, manifest = await self._load()
            self._tools = {spec.name: spec for spec in manifest.tools}
            shared = any(spec.is_async for spec in manifest.tools)
            alone = self._workers if not all(spec.is_async for spec in manifest.tools) else 0
            self._seat(first, shared=shared)
            self._check_there_are_tools()
            for child in await self._load_all(alone + shared - 1):
                self._seat(child, shared=False)
        except BaseException:
            await self.stop()
            raise

    def _check_there_are_tools(self) -> None:
        if not self._tools:
            raise NoToolsError(
                f"{self._boot.spec} declares no tools: add some to its Deps(tools=[...]), or run no tool runner"
            )

    async def stop(self) -> None:
        """Kill the processes and wait until they are gone; calls under way never come to an answer."""
        self._stopped = True
        replacing, self._replacing = self._replacing, set()
        for task in replacing:
            task.cancel()
        await asyncio.gather(*replacing, return_exceptions=True)
        seats, self._seats = list(self._seats.values()), {}
        for call in [call for seat in seats for call in seat.calls.values()]:
            call.end(None)
        await asyncio.gather(*(seat.child.stop() for seat in seats))

    async def run(self, job: ToolJob) -> ToolAnswer:
        """Run one of the tools (`ToolHost.run`)."""
        spec = self._tools[job.name]
        try:
            async with asyncio.timeout(self._remaining(job)):
                seat = await self._free(shared=spec.is_async)
        except TimeoutError:
            return TOO_LATE
        remaining = self._remaining(job)
        limit_s = spec.timeout_s if remaining is None else min(spec.timeout_s, remaining)
        if limit_s <= 0:  # a wait that is over before it begins times out only where there is something to wait for
            self._give_back(seat)
            return TOO_LATE
        loop = asyncio.get_running_loop()
        number, call = next(self._numbers), _Call(loop.create_future(), limit_s)
        try:
            seat.child.send(CallTool(number, job.name, job.arguments, job.context, limit_s, self._max_chars))
        except Exception as error:  # noqa: BLE001 - e.g. what the user says about themselves, nested too deep to be sent
            self._give_back(seat)
            return refused(type(error).__name__, "the call cannot be handed to the tool")
        seat.calls[number] = call
        call.timer = loop.call_later(limit_s + (_GRACE_S if seat.shared else 0.0), seat.kill, number)
        try:
            return await call.answer
        except asyncio.CancelledError:
            if seat.shared:
                seat.child.send(Drop(number))
            raise

    async def _free(self, *, shared: bool) -> _Seat:
        """Wait for a process that takes a call."""
        while True:
            seat = await (asyncio.shield(self._shared) if shared else self._idle.get())
            if not seat.child.gone:
                return seat
            # One that died while it was idle is replaced already; it is only still in the queue.
            await asyncio.sleep(0)

    def _give_back(self, seat: _Seat) -> None:
        if not seat.shared:
            self._idle.put_nowait(seat)

    def _remaining(self, job: ToolJob) -> float | None:
        return None if job.deadline_at is None else job.deadline_at - self._now()

    # -- what processes say -------------------------------------------------------------------------------------------

    def _on_message(self, child: Child, message: FromChild) -> None:
        seat = self._seats.get(child)
        if seat is None or not isinstance(message, ToolDone):
            return
        call = seat.calls.pop(message.call, None)
        if call is None:  # a tool that forked: two processes speak on one socket
            _log.warning("a process for tools spoke of a call that is not open: tools must not fork")
            child.kill()
            return
        call.end(message.answer)
        if not seat.shared and seat.culprit is None:
            self._idle.put_nowait(seat)

    def _on_gone(self, child: Child) -> None:
        """Answer the calls that a process took along, and replace it."""
        seat = self._seats.pop(child, None)
        if seat is None or self._stopped:
            return
        _log.warning("a process for tools has ended with %d calls in it; replacing it", len(seat.calls))
        for number, call in seat.calls.items():
            call.end(timed_out(call.limit_s) if number == seat.culprit else CRASHED)
        if seat.shared:
            self._shared = asyncio.get_running_loop().create_future()
        self._replace(shared=seat.shared)

    # -- starting processes -------------------------------------------------------------------------------------------

    async def _load(self) -> tuple[Child, Manifest]:
        child = Child(self._on_message, self._on_gone)
        return child, await child.start(self._boot, self._boot_timeout_s)

    async def _load_all(self, count: int) -> list[Child]:
        """Start so many processes, or none."""
        loads = [asyncio.ensure_future(self._load()) for _ in range(count)]
        try:
            return [child for child, _ in await asyncio.gather(*loads)]
        except BaseException:
            for load in loads:
                load.cancel()
            loaded = await asyncio.gather(*loads, return_exceptions=True)
            await asyncio.gather(*(one[0].stop() for one in loaded if not isinstance(one, BaseException)))
            raise

    def _seat(self, child: Child, *, shared: bool) -> None:
        """Let a process take calls, unless it has ended since it came up."""
        if child.gone:
            self._replace(shared=shared)
            return
        seat = self._seats[child] = _Seat(child, shared=shared)
        if shared:
            self._shared.set_result(seat)
        else:
            self._idle.put_nowait(seat)

    def _replace(self, *, shared: bool) -> None:
        task = asyncio.get_running_loop().create_task(self._start_another(shared=shared))
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _start_another(self, *, shared: bool) -> None:
        """Start a process in place of one that is gone, in a few tries."""
        last: BaseException = NoToolsError(f"the tools of {self._boot.spec} are gone: start this worker again")
        for pause_s in _BACKOFF_S:
            await asyncio.sleep(pause_s)
            try:
                child, _ = await self._load()
            except (DepsError, ChainsError, OSError) as error:
                _log.warning("a process for tools did not come up: %s", type(error).__name__)
                last = error
            else:
                self._seat(child, shared=shared)
                return
        self._on_fatal(last)
