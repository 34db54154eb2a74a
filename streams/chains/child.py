"""The process in which chains run: loads the operator's `Deps`, runs what it is given, and dies with its owner.

Two threads. The main thread reads the socket, and runs chains with a sync member itself: its owner gives it no other
call meanwhile, so nothing waits behind them, and sync code finds no event loop in its way. The other thread has the
event loop for async members, many at once.

The owner enforces the limits of sync members by killing this process; those of async members are enforced here, as long
as the event loop turns. The process ends when the socket closes, and on Linux also when the thread that started it
ends, for a processor that hangs keeps the main thread from reading.
"""

from __future__ import annotations

import asyncio
import ctypes
import io
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from processors.calling import call_sync, run_chain, threw
from processors.catalogue import Catalogue, load
from processors.chain import RUNS, CallResult, Run
from processors.declare import Processor
from processors.deps import Deps
from processors.effective import effective
from processors.errors import DepsError
from processors.policy import FailurePolicy
from processors.spending import tallied
from processors.tools import Tool
from streams.chains.bound import Bound, bind
from streams.chains.limits import call_limited
from streams.chains.wire import (
    At,
    Boot,
    CallTool,
    Done,
    Drop,
    FromChild,
    Install,
    Installed,
    NotReady,
    Ping,
    Pong,
    Ready,
    Start,
    ToChild,
    ToolDone,
    Uninstall,
    Unpacker,
    pack,
)
from streams.tools.calling import call_tool

_PR_SET_PDEATHSIG = 1
_CHUNK = 1 << 18
_BROKEN = 70


class Link:
    """The child's end of the socket: blocking, read by one thread, written by any."""

    def __init__(self, connection: socket.socket) -> None:
        """Speak over `connection`."""
        self._socket = connection
        self._unpacker = Unpacker()
        self._writing = threading.Lock()

    def receive(self) -> ToChild | FromChild | None:
        """Wait for the next message; None when the owner is gone."""
        while (message := self._unpacker.next()) is None:
            data = self._socket.recv(_CHUNK)
            if not data:
                return None
            self._unpacker.feed(data)
        return message

    def send(self, message: FromChild) -> None:
        """Send a message, waiting for the owner to read if need be."""
        data = pack(message)
        with self._writing:
            self._socket.sendall(data)


class Host:
    """Runs chains as it is told to."""

    def __init__(self, link: Link, deps: Deps, catalogue: Catalogue, policy: FailurePolicy) -> None:
        """Serve the owner at the other end of `link` with `deps`, and with what `catalogue` allows to put on top of it."""
        self._link = link
        self._deps = deps
        self._catalogue = catalogue
        self._policy = policy
        self._chains: dict[int, Bound[Processor]] = {0: bind(deps, policy)}
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in deps.tools}
        self._loop = asyncio.new_event_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def serve(self) -> None:
        """Do what the owner says until it is gone."""
        threading.Thread(target=self._turn_loop, name="processors", daemon=True).start()
        while (message := self._link.receive()) is not None:
            if isinstance(message, Start):
                chains = self._chains[message.number]
                if chains.blocks(message.run):
                    self._run_here(message.call, chains, message.run)
                else:
                    self._loop.call_soon_threadsafe(self._begin, message.call, chains, message.run)
            elif isinstance(message, Install):
                self._link.send(self._install(message))
            elif isinstance(message, Uninstall):
                self._chains.pop(message.number, None)
            elif isinstance(message, CallTool):
                self._loop.call_soon_threadsafe(self._begin_tool, message)
            elif isinstance(message, Drop):
                self._loop.call_soon_threadsafe(self._drop, message.call)
            elif isinstance(message, Ping):
                self._loop.call_soon_threadsafe(self._link.send, Pong())

    def _turn_loop(self) -> None:
        """Run the event loop for as long as the process lives, which is no longer than the loop turns."""
        try:
            self._loop.run_forever()
        finally:
            os._exit(_BROKEN)

    def _install(self, wanted: Install) -> Installed:
        """Make chains as a plan says; a factory may do anything."""
        try:
            floor = Deps() if wanted.plan.alone else self._deps
            deps = effective(floor, self._catalogue, wanted.plan)
            self._chains[wanted.number] = bind(deps, self._policy)
        except DepsError as error:
            return Installed(wanted.number, None, type(error)(str(error)))  # without a cause, which may not be sendable
        return Installed(wanted.number, deps.manifest)

    def _run_here(self, call: int, chains: Bound[Processor], run: Run) -> None:
        """Run a chain with a sync member in this thread."""
        chain = chains.of(run)
        step: Any = run
        while isinstance(step, RUNS):
            if step is not run:
                self._link.send(At(call, step))
            started = time.perf_counter()
            with tallied() as tally:
                result = self._call_here(chain.member(step), step.subject, step.context)
            result = replace(result, spending=tally.total())
            step = chain.take(step, result, (time.perf_counter() - started) * 1000)
        self._link.send(Done(call, step))

    def _call_here(self, processor: Processor, subject: object, context: object) -> CallResult:
        """Call a processor of either sort and wait for it."""
        if processor.is_async:
            return asyncio.run_coroutine_threadsafe(call_limited(processor, subject, context), self._loop).result()
        try:
            return call_sync(processor, subject, context)
        except BaseException as error:  # noqa: BLE001 - nothing a processor throws may end the process
            return threw(processor, error)

    def _begin(self, call: int, chains: Bound[Processor], run: Run) -> None:
        """Run an async chain on the event loop, beside others."""
        task = self._loop.create_task(self._run_beside(call, chains, run))
        self._tasks[call] = task
        task.add_done_callback(lambda _: self._end(call, Done(call, None)))

    async def _run_beside(self, call: int, chains: Bound[Processor], run: Run) -> None:
        """Run an async chain and say what it came to."""
        outcome = await run_chain(
            chains.of(run),
            run,
            call_limited,
            time.perf_counter,
            on_step=lambda step: self._link.send(At(call, step)),
        )
        self._link.send(Done(call, outcome))

    def _begin_tool(self, asked: CallTool) -> None:
        """Call a tool; a sync one runs in a thread, and has no other call beside it."""
        task = self._loop.create_task(self._call_tool(asked))
        self._tasks[asked.call] = task
        task.add_done_callback(lambda _: self._end(asked.call, ToolDone(asked.call, None)))

    async def _call_tool(self, asked: CallTool) -> None:
        """Call a tool and say what it came to."""
        tool = self._tools[asked.name]
        limit_s = asked.limit_s if tool.is_async else None
        answer = await call_tool(tool, asked.arguments, asked.context, limit_s=limit_s, max_chars=asked.max_chars)
        self._link.send(ToolDone(asked.call, answer))

    def _drop(self, call: int) -> None:
        """Cancel a call that nobody waits for."""
        task = self._tasks.get(call)
        if task is not None:
            task.cancel()

    def _end(self, call: int, dropped: FromChild) -> None:
        """Forget a call; one that was cancelled has not said so yet."""
        task = self._tasks.pop(call)
        if task.cancelled():
            self._link.send(dropped)
        elif task.exception() is not None:
            # A fault of this module, or a socket that broke. Silence would leave the owner waiting.
            os._exit(_BROKEN)


def main(fd: int, owner: int) -> NoReturn:
    """Serve the process `owner` over the socket `fd` until it is gone."""
    _outlive_nobody(owner)
    # Who may end this process is its owner alone, which still needs it while it shuts down in good order itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.set_inheritable(fd, False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # killed processes do not flush
    link = Link(socket.socket(fileno=fd))
    status = 0
    try:
        _serve(link)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the owner must see this process end
        # The class alone: a message or traceback could quote what a processor saw.
        sys.stderr.write(f"process for processors: {type(error).__name__}\n")
        status = _BROKEN
    # At once: a processor's threads and exit handlers have no say in when this process is gone.
    os._exit(status)


def _serve(link: Link) -> None:
    """Load what the owner names, then run what it asks for."""
    boot = link.receive()
    if not isinstance(boot, Boot):
        return
    if boot.debug:
        _log_failures()
    try:
        deps, catalogue = load(boot.spec, boot.sources, paths=boot.paths)
    except DepsError as error:
        link.send(NotReady(error))
        return
    host = Host(link, deps, catalogue, boot.policy)
    link.send(Ready(deps.manifest, catalogue.listed))
    host.serve()


def _log_failures() -> None:
    """Log to stderr what processors and tools throw: the owner is told of their class alone."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    for name in ("processors", "streams.tools"):
        logging.getLogger(name).setLevel(logging.DEBUG)


def _outlive_nobody(owner: int) -> None:
    """Have the kernel end this process with the thread that started it, where the kernel can (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != owner:  # it ended before the line above took effect
        os._exit(_BROKEN)
