"""Chains run in child processes that can be killed, so that no processor can hold up the worker.

*Who shares a child.* A chain with a sync member has a child to itself while it runs: it may block, and nothing may wait
behind it. Chains of async members only share a child, up to `max_shared` at once. Calls are served in the order they
were made; a shared child takes no more of them while an older call waits for a child and every child is shared.

*Whom to blame.* A child tells which member it calls, so one that runs a single call leaves no doubt: when it dies, or
goes over the member's limit and is killed, the member has crashed or timed out. With several calls in it there is
doubt, and then nobody is blamed: each of them is run once more in a child to itself, from the member it had come to. A
child that several calls share is therefore asked for a sign of life every now and then, for one call that blocks the
event loop stops all of them.

*Queueing.* Each waiting call is a caller that waits: the queue is as long as there are callers, who are the ones to
bound (`max_open_turns`).
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from processors.board import Plan
from processors.chain import RUNS, Run, Threw
from processors.declare import Declaration
from processors.errors import DeploymentError, DepsError, ProcessorCrashedError, ProcessorTimeoutError
from processors.manifest import Manifest
from processors.policy import FailurePolicy
from streams.chains.bound import Bound, follow
from streams.chains.calls import ChainCalls
from streams.chains.children import Child
from streams.chains.errors import NOTHING_TO_DEPLOY, ChainsError, ChainsStoppedError, ChainStartError
from streams.chains.installing import FLOOR, InstalledChains, Installing
from streams.chains.ports import ChainRunner
from streams.chains.wire import At, Boot, Done, Drop, FromChild, Installed, Ping, Pong, Start

_log = logging.getLogger(__name__)

_CRASHED = ProcessorCrashedError.__name__
_TIMED_OUT = ProcessorTimeoutError.__name__
#: How much longer than its limit an async member gets before its process is held to be stuck, in seconds.
_GRACE_S = 1.0
#: Seconds before the first, second, … try to replace a child that did not come up; the last one repeats.
_BACKOFF_S = (0.0, 0.2, 1.0, 5.0)
#: After so many tries in a row, and with no child left, calls are answered as failed instead of kept waiting.
_PATIENCE = 3


class _Call:
    """One call of a runner, from when it is made until its outcome is known."""

    __slots__ = ("alone", "began", "bound", "child", "future", "number", "run", "ticket", "timer")

    def __init__(
        self,
        ticket: int,
        run: Run,
        future: asyncio.Future[Any],
        number: int,
        bound: Bound[Declaration],
        *,
        alone: bool,
    ) -> None:
        self.ticket = ticket
        self.run = run
        self.future = future
        self.number = number
        self.bound = bound
        self.alone = alone
        self.child: _Seat | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.began = 0.0

    def __lt__(self, other: _Call) -> bool:
        return self.ticket < other.ticket

    def stop_timer(self) -> None:
        """Let the current limit go."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


class _Seat:
    """A child that is up, and what it is doing."""

    __slots__ = ("alone", "calls", "certain", "child", "doomed", "heard", "pulse")

    def __init__(self, child: Child) -> None:
        self.child = child
        self.calls: dict[int, _Call] = {}
        self.alone = False
        self.doomed: str | None = None
        self.certain = False
        self.pulse: asyncio.TimerHandle | None = None
        self.heard = True

    def doom(self, error: str) -> None:
        """Kill the child because of `error`; what it was doing is seen to once it is gone."""
        if self.doomed is None:
            self.doomed = error
            self.certain = len(self.calls) == 1  # not later: others may still finish before the kill arrives
            self.child.kill()


class ProcessChainRunner(ChainCalls):
    """A `ChainRunner` that runs every chain in child processes and enforces every limit by killing them.

    Belongs to the event loop, and the thread, in which `start` is called: the children end with that thread.
    """

    def __init__(
        self,
        spec: str | None,
        *,
        sources: Sequence[str] = (),
        workers: int = 2,
        paths: Sequence[str | Path] = (),
        policy: FailurePolicy | None = None,
        max_shared: int = 64,
        boot_timeout_s: float = 60.0,
        stall_s: float = 5.0,
    ) -> None:
        """Describe what to run; nothing is started yet.

        Args:
            spec: `module:attribute` of the `Deps`, as `load_deps` takes it. Imported in the children only. None: an empty
                one.
            sources: `module:attribute` of code that can be deployed beside it, as `processors.catalogue` takes it.
            workers: how many children there are.
            paths: directories in which the children look for the module, as `load_deps` takes them.
            policy: how failures of pre- and post-processors are met.
            max_shared: how many async chains run in one child at once.
            boot_timeout_s: how long a child may take to import what `spec` names, in seconds.
            stall_s: how long the event loop of a child with several calls may stand still, in seconds.

        Raises:
            ValueError: a number is not above 0.
        """
        if min(workers, max_shared, boot_timeout_s, stall_s) <= 0:
            raise ValueError("workers, max_shared, boot_timeout_s and stall_s must all be above 0")
        self._policy = policy or FailurePolicy()
        self._boot = Boot(spec, tuple(str(path) for path in paths), self._policy, tuple(sources))
        self._workers = workers
        self._max_shared = max_shared
        self._boot_timeout_s = boot_timeout_s
        self._stall_s = stall_s
        self._chains: dict[int, Bound[Declaration]] = {}
        self._manifest: Manifest | None = None
        self._available: tuple[str, ...] = ()
        self._installing = Installing(boot_timeout_s)
        self._seats: dict[Child, _Seat] = {}
        self._replacing: set[asyncio.Task[None]] = set()
        self._waiting_alone: list[_Call] = []
        self._waiting_shared: list[_Call] = []
        self._tickets = itertools.count(1)

    # -- the runner's life --------------------------------------------------------------------------------------------

    @property
    def manifest(self) -> Manifest:
        """What the chains consist of.

        Raises:
            ChainsStoppedError: `start` has never returned.
        """
        if self._manifest is None:
            raise ChainsStoppedError("the chain runner has not been started: await start() first")
        return self._manifest

    @property
    def available(self) -> tuple[str, ...]:
        """Which code could be deployed, as `kind/name@version#digest`; known once `start` has returned."""
        return self._available

    async def install(self, plan: Plan) -> InstalledChains:
        """Make every child ready to run the chains of `plan` beside those that it runs already.

        Raises:
            DeploymentError: the plan cannot be run: says why.
            DepsError: the same, of what the `Deps` asks for.
            ChainsError: the children did not come to an answer.
        """
        if not plan.choices:
            return InstalledChains(self, FLOOR, self.manifest)
        if not self._available:
            raise DeploymentError(NOTHING_TO_DEPLOY)
        self.bound(FLOOR)
        number, manifest = await self._installing.everywhere(plan, [seat.child for seat in self._seats.values()])
        self._chains[number] = follow(manifest, self._policy)
        return InstalledChains(self, number, manifest)

    def uninstall(self, chains: ChainRunner) -> None:
        """Forget chains that nobody will run any more; calls that are under way go on."""
        number = chains.number if isinstance(chains, InstalledChains) else FLOOR
        if number != FLOOR and self._chains.pop(number, None) is not None:
            self._installing.forget(number, list(self._seats))

    async def start(self) -> None:
        """Start the children and wait until each has loaded the processors.

        None is kept where there is nothing to run, and nothing to deploy. Harmless when started.

        Raises:
            DepsError: the processors cannot be loaded: says why.
            ChainStartError: a child did not come up.
        """
        if self._chains:
            return
        children = [Child(self._on_message, self._on_gone) for _ in range(self._workers)]
        loads = [asyncio.ensure_future(child.start(self._boot, self._boot_timeout_s)) for child in children]
        try:
            manifests = await asyncio.gather(*loads)
        except BaseException:
            for load in loads:
                load.cancel()
            await asyncio.gather(*loads, return_exceptions=True)
            await _stop_all(children)
            raise
        manifest = manifests[0]
        if any(other != manifest for other in manifests):
            await _stop_all(children)
            raise ChainStartError(
                f"two imports of {self._boot.spec!r} gave different processors: declare the same ones in every process"
            )
        self._manifest = manifest
        self._available = children[0].available
        self._chains[FLOOR] = follow(manifest, self._policy)
        if not manifest and not self._available:
            await _stop_all(children)
            return
        for child in children:
            self._seat(child)

    async def stop(self) -> None:
        """Kill the children and wait until they are gone; calls still waiting raise `ChainsStoppedError`."""
        self._chains.clear()
        self._installing.stop()
        replacing, self._replacing = self._replacing, set()
        for task in replacing:
            task.cancel()
        seats, self._seats = list(self._seats.values()), {}
        calls = [*self._waiting_alone, *self._waiting_shared, *(call for seat in seats for call in seat.calls.values())]
        self._waiting_alone.clear()
        self._waiting_shared.clear()
        for call in calls:
            call.stop_timer()
            if not call.future.done():
                call.future.set_exception(ChainsStoppedError("the chain runner was stopped while the call waited"))
        for seat in seats:
            if seat.pulse is not None:
                seat.pulse.cancel()
        await asyncio.gather(*replacing, return_exceptions=True)
        await _stop_all([seat.child for seat in seats])

    # -- calls --------------------------------------------------------------------------------------------------------

    def _running(self) -> Bound[Declaration]:
        """Return the chains of the `Deps`, if the runner is running."""
        return self.bound(FLOOR)

    async def _finish(self, step: Any) -> Any:
        """Have a run of them brought to its outcome by a child."""
        return await self.finish(FLOOR, step)

    def bound(self, number: int) -> Bound[Declaration]:
        """Return the chains that are called `number`, if the runner is running.

        Raises:
            ChainsStoppedError: it is not, or they are not installed any more.
        """
        found = self._chains.get(number)
        if found is None:
            raise ChainsStoppedError("the chain runner is not running: await start() before its first call")
        return found

    async def finish(self, number: int, step: Any) -> Any:
        """Have a run of the chains `number` brought to its outcome by a child.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        if not isinstance(step, RUNS):
            return step
        bound = self.bound(number)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        call = _Call(next(self._tickets), step, future, number, bound, alone=bound.blocks(step))
        self._enqueue(call)
        self._dispatch()
        try:
            return await future
        except asyncio.CancelledError:
            if call.child is not None:
                call.child.child.send(Drop(call.ticket))
            raise

    # -- who is served next, and where --------------------------------------------------------------------------------

    def _enqueue(self, call: _Call) -> None:
        """Let a call wait for its turn, which goes by when it was first made."""
        heapq.heappush(self._waiting_alone if call.alone else self._waiting_shared, call)

    def _dispatch(self) -> None:
        """Give calls to children for as long as there are some of both."""
        while self._dispatch_one():
            pass

    def _dispatch_one(self) -> bool:
        """Give the oldest call that can be served to a child; tell whether there was one."""
        queues = [queue for queue in (self._waiting_alone, self._waiting_shared) if _drop_abandoned(queue)]
        for queue in sorted(queues, key=lambda queue: queue[0]):
            call = queue[0]
            seat = self._idle() if call.alone else self._shared() or self._idle()
            if seat is not None:
                heapq.heappop(queue)
                self._hand(call, seat)
                return True
        return False

    def _idle(self) -> _Seat | None:
        """Return a child with nothing to do."""
        return next((seat for seat in self._seats.values() if not seat.calls and seat.doomed is None), None)

    def _shared(self) -> _Seat | None:
        """Return a child that async chains share and that has room for one more."""
        seats = [seat for seat in self._seats.values() if seat.doomed is None]
        busy = [seat for seat in seats if seat.calls and not seat.alone]
        older = self._waiting_alone and self._waiting_alone[0] < self._waiting_shared[0]
        if older and len(busy) == len(seats):
            return None  # the older call would never find a child free
        return next((seat for seat in busy if len(seat.calls) < self._max_shared), None)

    def _hand(self, call: _Call, seat: _Seat) -> None:
        """Give a call to a child."""
        try:
            seat.child.send(Start(call.ticket, call.run, call.number))
        except Exception as error:  # noqa: BLE001 - e.g. a caller's attributes, nested too deep to be sent
            self._blame(call, type(error).__name__)
            return
        seat.alone = call.alone
        seat.calls[call.ticket] = call
        call.child = seat
        self._start_timer(call, seat)
        if len(seat.calls) > 1 and seat.pulse is None:
            self._feel_pulse(seat)

    # -- limits -------------------------------------------------------------------------------------------------------

    def _start_timer(self, call: _Call, seat: _Seat) -> None:
        """Hold the member that is being called to its limit."""
        call.stop_timer()
        member = call.bound.of(call.run).member(call.run)
        loop = asyncio.get_running_loop()
        call.began = loop.time()
        # Async members are held to their limit in the child; this is for one that does not let the child do so.
        limit = member.timeout_s + (_GRACE_S if member.is_async else 0.0)
        call.timer = loop.call_later(limit, seat.doom, _TIMED_OUT)

    def _feel_pulse(self, seat: _Seat) -> None:
        """Ask a shared child for a sign of life, and look for it a while later."""
        seat.heard = False
        seat.child.send(Ping())
        seat.pulse = asyncio.get_running_loop().call_later(self._stall_s, self._check_pulse, seat)

    def _check_pulse(self, seat: _Seat) -> None:
        """Kill a shared child that has stood still; go on watching it otherwise."""
        seat.pulse = None
        if len(seat.calls) < 2:  # noqa: PLR2004 - a single call is held to its own limit
            return
        if seat.heard:
            self._feel_pulse(seat)
        else:
            seat.doom(_TIMED_OUT)

    # -- what children say --------------------------------------------------------------------------------------------

    def _on_message(self, child: Child, message: FromChild) -> None:
        """Take what a child says."""
        seat = self._seats.get(child)
        if seat is None:
            return
        if isinstance(message, Done | At) and message.call not in seat.calls:
            self._distrust(seat)
        elif isinstance(message, Done):
            call = seat.calls.pop(message.call)
            call.stop_timer()
            if message.outcome is not None and not call.future.done():
                call.future.set_result(message.outcome)
            self._dispatch()
        elif isinstance(message, At):
            call = seat.calls[message.call]
            call.run = message.run
            self._start_timer(call, seat)
        elif isinstance(message, Pong):
            seat.heard = True
        elif isinstance(message, Installed) and not self._installing.told(child, message):
            _log.error("a process for processors made other chains than the others: restart this worker")
            seat.doom(_CRASHED)
            seat.certain = False

    def _distrust(self, seat: _Seat) -> None:
        """Kill a child that speaks of a call it was not given, or has answered; blame nobody who is in it now.

        That is what a processor that forks makes of it: two processes that take each other's calls from one socket.
        """
        if seat.doomed is None:
            _log.warning("a process for processors spoke of a call that is not open: processors must not fork")
            seat.doom(_CRASHED)
            seat.certain = False

    def _on_gone(self, child: Child) -> None:
        """Find out what the end of a child means for its calls, and replace it."""
        seat = self._seats.pop(child, None)
        self._installing.gone(child)
        if seat is None or not self._chains:
            return
        if seat.pulse is not None:
            seat.pulse.cancel()
        calls = list(seat.calls.values())
        error = seat.doomed or _CRASHED
        certain = seat.certain if seat.doomed else len(calls) == 1
        _log.warning("a process for processors has ended (%s) with %d calls in it; replacing it", error, len(calls))
        for call in calls:
            call.stop_timer()
            call.child = None
            if certain:
                self._blame(call, error)
            else:
                call.began = 0.0
                call.alone = True
                self._enqueue(call)
        self._replace()
        self._dispatch()

    def _blame(self, call: _Call, error: str) -> None:
        """Have the member that was being called fail with `error`; its chain may go on without it."""
        chain = call.bound.of(call.run)
        member = chain.member(call.run)
        ran_ms = (asyncio.get_running_loop().time() - call.began) * 1000 if call.began else 0.0
        call.began = 0.0
        _log.warning("%s processor %s failed: %s", member.kind, member.name, error)
        step = chain.take(call.run, Threw(error), ran_ms)
        if isinstance(step, RUNS):
            call.run = step
            self._enqueue(call)
        elif not call.future.done():
            call.future.set_result(step)

    # -- replacing children -------------------------------------------------------------------------------------------

    def _replace(self) -> None:
        """Start a child in place of one that is gone."""
        task = asyncio.get_running_loop().create_task(self._start_another())
        self._replacing.add(task)
        task.add_done_callback(self._replacing.discard)

    async def _start_another(self) -> None:
        """Start a child, again and again until one comes up."""
        for failures in itertools.count():
            await asyncio.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
            child = Child(self._on_message, self._on_gone)
            try:
                manifest = await child.start(self._boot, self._boot_timeout_s)
            except (DepsError, ChainsError, OSError) as error:
                _log.warning("a process for processors did not come up: %s", type(error).__name__)
            else:
                if manifest == self._manifest:
                    self._seat(child)
                    self._dispatch()
                    return
                await child.stop()
                _log.error("the processors of %s have changed since the start: restart this worker", self._boot.spec)
            if failures + 1 >= _PATIENCE:
                self._give_up_waiting()

    def _seat(self, child: Child) -> None:
        """Let a child take calls, unless it has ended since it came up."""
        if child.gone:
            self._replace()
        else:
            self._seats[child] = _Seat(child)
            self._installing.came(child)

    def _give_up_waiting(self) -> None:
        """Answer the calls that wait, if there is no child to wait for."""
        if self._seats:
            return
        while self._waiting_alone or self._waiting_shared:
            queue = self._waiting_alone or self._waiting_shared
            call = heapq.heappop(queue)
            self._blame(call, ChainStartError.__name__)


def _drop_abandoned(queue: list[_Call]) -> bool:
    """Forget calls at the head of a queue that nobody waits for; tell whether any is left."""
    while queue and queue[0].future.done():
        heapq.heappop(queue)
    return bool(queue)


async def _stop_all(children: list[Child]) -> None:
    """Kill children and wait until they are gone."""
    await asyncio.gather(*(child.stop() for child in children))
