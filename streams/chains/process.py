"""Chains run in child processes that can be killed, so that no processor can hold up the worker: the runner's surface.

The children themselves, and which of them runs what, are in `streams/chains/pool.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from processors.board import Plan
from processors.chain import RUNS
from processors.declare import Declaration
from processors.errors import DeploymentError
from processors.manifest import Manifest
from processors.policy import FailurePolicy
from streams.chains.bound import Bound, follow
from streams.chains.calls import ChainCalls
from streams.chains.errors import NOTHING_TO_DEPLOY, ChainsStoppedError
from streams.chains.installing import FLOOR, InstalledChains, Installing
from streams.chains.pool import Pool
from streams.chains.ports import ChainRunner
from streams.chains.wire import Boot

_log = logging.getLogger(__name__)


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
        self._chains: dict[int, Bound[Declaration]] = {}
        self._manifest: Manifest | None = None
        self._available: tuple[str, ...] = ()
        self._installing = Installing(boot_timeout_s)
        self._pool = Pool(
            Boot(
                spec,
                tuple(str(path) for path in paths),
                self._policy,
                tuple(sources),
                debug=_log.isEnabledFor(logging.DEBUG),
            ),
            self._installing,
            workers=workers,
            max_shared=max_shared,
            boot_timeout_s=boot_timeout_s,
            stall_s=stall_s,
        )

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
        number, manifest = await self._installing.everywhere(plan, self._pool.children)
        self._chains[number] = follow(manifest, self._policy)
        return InstalledChains(self, number, manifest)

    def uninstall(self, chains: ChainRunner) -> None:
        """Forget chains that nobody will run any more; calls that are under way go on."""
        number = chains.number if isinstance(chains, InstalledChains) else FLOOR
        if number != FLOOR and self._chains.pop(number, None) is not None:
            self._installing.forget(number, self._pool.children)

    async def start(self) -> None:
        """Start the children and wait until each has loaded the processors.

        None is kept where there is nothing to run, and nothing to deploy. Harmless when started.

        Raises:
            DepsError: the processors cannot be loaded: says why.
            ChainStartError: a child did not come up.
        """
        if self._chains:
            return
        self._manifest, self._available = await self._pool.start()
        self._chains[FLOOR] = follow(self._manifest, self._policy)

    async def stop(self) -> None:
        """Kill the children and wait until they are gone; calls still waiting raise `ChainsStoppedError`."""
        self._chains.clear()
        self._installing.stop()
        await self._pool.stop()

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
        return await self._pool.finish(number, step, self.bound(number))
