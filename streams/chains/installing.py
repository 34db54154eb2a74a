"""Several sets of chains in the same child processes: each is made of the code that the children have loaded.

A set is installed in every child before anybody may run it, and in a child that comes later before that one is given a
call: messages to a child are read in their order. What a set consists of must be the same in all of them.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from processors.board import Plan
from processors.declare import Declaration
from processors.errors import DepsError
from processors.manifest import Manifest
from streams.chains.bound import Bound
from streams.chains.calls import ChainCalls
from streams.chains.children import Child
from streams.chains.errors import ChainsStoppedError, ChainStartError
from streams.chains.wire import Install, Installed, Uninstall

#: The number of the chains of the `Deps` itself, which are always there.
FLOOR = 0


class Runner(Protocol):
    """What runs installed chains."""

    def bound(self, number: int) -> Bound[Declaration]:
        """Return the chains that are called `number`."""

    async def finish(self, number: int, step: Any) -> Any:
        """Bring a run of these to its outcome."""


class InstalledChains(ChainCalls):
    """A `ChainRunner` for one set of chains of a runner, which starts and stops by itself."""

    def __init__(self, runner: Runner, number: int, manifest: Manifest) -> None:
        """Run the chains that `runner` calls `number`, which consist of `manifest`."""
        self._runner = runner
        self.number = number
        self.manifest = manifest

    async def start(self) -> None:
        """Do nothing: the runner is started."""

    async def stop(self) -> None:
        """Do nothing: the runner runs other chains too."""

    def _running(self) -> Bound[Declaration]:
        return self._runner.bound(self.number)

    async def _finish(self, step: Any) -> Any:
        return await self._runner.finish(self.number, step)


@dataclass(slots=True)
class _Set:
    """One plan on its way into the children, and what they have said of it so far."""

    plan: Plan
    ready: asyncio.Future[Manifest]
    waiting: set[Child] = field(default_factory=set)
    manifest: Manifest | None = None


class Installing:
    """Knows which sets are installed where. A set may take `limit_s` seconds to get into all children."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._sets: dict[int, _Set] = {}
        self._numbers = itertools.count(FLOOR + 1)

    async def everywhere(self, plan: Plan, children: Iterable[Child]) -> tuple[int, Manifest]:
        """Install `plan` in all `children`, and return its number and what it consists of.

        Raises:
            DepsError: it cannot be made.
            ChainStartError: a child said nothing in time, or something else than the others.
            ChainsStoppedError: the runner was stopped.
        """
        number = next(self._numbers)
        one = self._sets[number] = _Set(plan, asyncio.get_running_loop().create_future())
        for child in children:
            self._send(number, one, child)
        try:
            async with asyncio.timeout(self._limit_s):
                return number, await one.ready
        except BaseException as error:
            del self._sets[number]
            for child in children:
                child.send(Uninstall(number))
            if isinstance(error, TimeoutError):
                raise ChainStartError(
                    f"what is deployed was not ready within {self._limit_s:g} s: a factory may be slow, or a processor "
                    "may be holding its process"
                ) from None
            raise

    def came(self, child: Child) -> None:
        """Have a child that has just come up make every set, before it is given a call."""
        for number, one in self._sets.items():
            self._send(number, one, child)

    def gone(self, child: Child) -> None:
        """Wait no longer for a child that has ended; the one in its place will be waited for."""
        for one in self._sets.values():
            if child in one.waiting:
                one.waiting.discard(child)
                self._settle(one)

    def told(self, child: Child, message: Installed) -> bool:
        """Take what a child has made of a set; tell whether that is what the others have made of it."""
        one = self._sets.get(message.number)
        if one is None:
            return True  # it has been forgotten since
        one.waiting.discard(child)
        if one.ready.done():
            return message.manifest == one.manifest
        if message.manifest is None:
            one.ready.set_exception(message.error or DepsError("it could not be made"))
        elif one.manifest is not None and one.manifest != message.manifest:
            one.ready.set_exception(
                ChainStartError("two processes made different processors of what is deployed: declare the same in each")
            )
        else:
            one.manifest = message.manifest
            self._settle(one)
        return True

    def forget(self, number: int, children: Iterable[Child]) -> None:
        """Have no child keep a set any more."""
        if self._sets.pop(number, None) is not None:
            for child in children:
                child.send(Uninstall(number))

    def stop(self) -> None:
        """Let go of everything; whoever waits is told."""
        for one in self._sets.values():
            if not one.ready.done():
                one.ready.set_exception(ChainsStoppedError("the chain runner was stopped"))
        self._sets = {number: one for number, one in self._sets.items() if not one.ready.done()}

    def _send(self, number: int, one: _Set, child: Child) -> None:
        if not one.ready.done():
            one.waiting.add(child)
        child.send(Install(number, one.plan))

    @staticmethod
    def _settle(one: _Set) -> None:
        if not one.waiting and one.manifest is not None and not one.ready.done():
            one.ready.set_result(one.manifest)
