"""The child processes of a chain runner: who is served next and where, who is to blame, and who comes after the dead.

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
from typing import Any

from processors.chain import RUNS, Run, Threw
from processors.declare import Declaration
from processors.errors import DepsError, ProcessorCrashedError, ProcessorTimeoutError
from processors.manifest import Manifest
from streams.chains.bound import Bound
from streams.chains.children import Child, stop_all
from streams.chains.errors import ChainsError, ChainsStoppedError, ChainStartError
from streams.chains.installing import Installing
from streams.chains.seats import Call, Seat, drop_abandoned
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


class Pool:
    """Children that run calls, each of them replaced when it ends; belongs to the event loop in which `start` is called.

    `workers` children are started from `boot`, each within `boot_timeout_s` seconds. One runs up to `max_shared` async
    chains at once, and may stand still for `stall_s` seconds while it runs several.
    """

    def __init__(
        self,
        boot: Boot,
        installing: Installing,
        *,
        workers: int,
        max_shared: int,
        boot_timeout_s: float,
        stall_s: float,
    ) -> None:
        self._boot = boot
        self._installing = installing
        self._workers = workers
        self._max_shared = max_shared
        self._boot_timeout_s = boot_timeout_s
        self._stall_s = stall_s
        self._manifest: Manifest | None = None
        self._seats: dict[Child, Seat] = {}
        self._replacing: set[asyncio.Task[None]] = set()
        self._waiting_alone: list[Call] = []
        self._waiting_shared: list[Call] = []
        self._tickets = itertools.count(1)

    @property
    def children(self) -> list[Child]:
        """Those that are up."""
        return list(self._seats)

    # -- the children's life ------------------------------------------------------------------------------------------

    async def start(self) -> tuple[Manifest, tuple[str, ...]]:
        """Start the children; return what each has loaded, and which code could be deployed beside it.

        None is kept where there is nothing to run, and nothing to deploy.

        Raises:
            DepsError: the processors cannot be loaded: says why.
            ChainStartError: a child did not come up.
        """
        children = [Child(self._on_message, self._on_gone) for _ in range(self._workers)]
        loads = [asyncio.ensure_future(child.start(self._boot, self._boot_timeout_s)) for child in children]
        try:
            manifests = await asyncio.gather(*loads)
        except BaseException:
            for load in loads:
                load.cancel()
            await asyncio.gather(*loads, return_exceptions=True)
            await stop_all(children)
            raise
        manifest, available = manifests[0], children[0].available
        if any(other != manifest for other in manifests):
            await stop_all(children)
            raise ChainStartError(
                f"two imports of {self._boot.spec!r} gave different processors: declare the same ones in every process"
            )
        if not manifest and not available:
            await stop_all(children)
            return manifest, available
        self._manifest = manifest
        for child in children:
            self._seat(child)
        return manifest, available

    async def stop(self) -> None:
        """Kill the children and wait until they are gone; calls still waiting raise `ChainsStoppedError`."""
        self._manifest = None
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
        await stop_all([seat.child for seat in seats])

    async def finish(self, number: int, run: Run, bound: Bound[Declaration]) -> Any:
        """Have a run of the chains `number`, which are `bound`, brought to its outcome by a child.

        Raises:
            ChainsStoppedError: the pool was stopped meanwhile.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        call = Call(next(self._tickets), run, future, number, bound, alone=bound.blocks(run))
        self._enqueue(call)
        self._dispatch()
        try:
            return await future
        except asyncio.CancelledError:
            if call.child is not None:
                call.child.child.send(Drop(call.ticket))
            raise

    # -- who is served next, and where --------------------------------------------------------------------------------

    def _enqueue(self, call: Call) -> None:
        """Let a call wait for its turn, which goes by when it was first made."""
        heapq.heappush(self._waiting_alone if call.alone else self._waiting_shared, call)

    def _dispatch(self) -> None:
        """Give calls to children for as long as there are some of both."""
        while self._dispatch_one():
            pass

    def _dispatch_one(self) -> bool:
        """Give the oldest call that can be served to a child; tell whether there was one."""
        queues = [queue for queue in (self._waiting_alone, self._waiting_shared) if drop_abandoned(queue)]
        for queue in sorted(queues, key=lambda queue: queue[0]):
            call = queue[0]
            seat = self._idle() if call.alone else self._shared() or self._idle()
            if seat is not None:
                heapq.heappop(queue)
                self._hand(call, seat)
                return True
        return False

    def _idle(self) -> Seat | None:
        """Return a child with nothing to do."""
        return next((seat for seat in self._seats.values() if not seat.calls and seat.doomed is None), None)

    def _shared(self) -> Seat | None:
        """Return a child that async chains share and that has room for one more."""
        seats = [seat for seat in self._seats.values() if seat.doomed is None]
        busy = [seat for seat in seats if seat.calls and not seat.alone]
        older = self._waiting_alone and self._waiting_alone[0] < self._waiting_shared[0]
        if older and len(busy) == len(seats):
            return None  # the older call would never find a child free
        return next((seat for seat in busy if len(seat.calls) < self._max_shared), None)

    def _hand(self, call: Call, seat: Seat) -> None:
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

    def _start_timer(self, call: Call, seat: Seat) -> None:
        """Hold the member that is being called to its limit."""
        call.stop_timer()
        member = call.bound.of(call.run).member(call.run)
        loop = asyncio.get_running_loop()
        call.began = loop.time()
        # Async members are held to their limit in the child; this is for one that does not let the child do so.
        limit = member.timeout_s + (_GRACE_S if member.is_async else 0.0)
        call.timer = loop.call_later(limit, seat.doom, _TIMED_OUT)

    def _feel_pulse(self, seat: Seat) -> None:
        """Ask a shared child for a sign of life, and look for it a while later."""
        seat.heard = False
        seat.child.send(Ping())
        seat.pulse = asyncio.get_running_loop().call_later(self._stall_s, self._check_pulse, seat)

    def _check_pulse(self, seat: Seat) -> None:
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

    def _distrust(self, seat: Seat) -> None:
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
        if seat is None or self._manifest is None:
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

    def _blame(self, call: Call, error: str) -> None:
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
            self._seats[child] = Seat(child)
            self._installing.came(child)

    def _give_up_waiting(self) -> None:
        """Answer the calls that wait, if there is no child to wait for."""
        if self._seats:
            return
        while self._waiting_alone or self._waiting_shared:
            queue = self._waiting_alone or self._waiting_shared
            call = heapq.heappop(queue)
            self._blame(call, ChainStartError.__name__)
