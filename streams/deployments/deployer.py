"""Turns what is deployed into the chains of a worker, while it runs.

What is on `deployments` is folded into a board. For everybody, and for each tenant that has something of its own, the board
gives a plan; a plan is installed in the processes that run processors, and only when all of them are ready do new turns
begin with it. A plan that cannot be installed is refused as a whole: the chains stay as they were, and the worker says why.
Turns that are open keep what they have pinned, for as long as one of them is open.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from processors.board import Board, Choice, Plan, plan_of, shadow_plan, spelt
from processors.effective import unpinned
from processors.errors import DeploymentError, DepsError
from processors.manifest import Manifest
from streams.chains.errors import ChainsError
from streams.chains.ports import ChainRunner
from streams.deployments.shadow import Shadow
from streams.gate.entries import Started
from streams.turns.chain_table import ChainTable, TurnChains
from topics.records import DeploymentRecord

log = logging.getLogger(__name__)

#: After a record, so long is waited for others: a restart or a script writes many at once. In seconds.
PAUSE_S = 0.05


class Installer(Protocol):
    """Where chains are installed."""

    @property
    def available(self) -> tuple[str, ...]:
        """Which code could be deployed."""

    async def install(self, plan: Plan) -> ChainRunner:
        """Make ready to run the chains of a plan."""

    def uninstall(self, chains: ChainRunner) -> None:
        """Forget chains that nobody will run any more."""


@dataclass(frozen=True, slots=True)
class Running:
    """What a worker says of itself: the fields of `WorkerStatus` that deployments are about; runners have none to say."""

    active: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    chain: str = ""
    offset: int = -1
    refused: str | None = None


class Deployer:
    """Keeps the chains of one worker as they are deployed.

    `make` makes what turns run through of installed chains, and raises a `DepsError` if they will not do. `pinned` returns
    the ids of the chains that open turns have pinned. `changed` is called when the worker has something new to say of
    itself.
    """

    def __init__(
        self,
        installer: Installer,
        make: Callable[[Plan, ChainRunner], TurnChains],
        changed: Callable[[Running], None],
        shadow: Shadow | None = None,
    ) -> None:
        self._installer = installer
        self._make = make
        self._changed = changed
        self.shadow = shadow
        self._board = Board()
        self._seen = -1
        self._unreadable: str | None = None
        self._dirty = asyncio.Event()
        self._plans: dict[Plan, TurnChains] = {}
        self._revived: set[str] = set()
        self._table: ChainTable | None = None
        self._refused: str | None = None
        self.pinned: Callable[[], Collection[str]] = tuple
        #: How many seconds of users' turns are counted; None while that can still be chosen.
        self.counted_s: float | None = None

    @property
    def table(self) -> ChainTable:
        """The chains; there once `start` has returned.

        Raises:
            RuntimeError: it has not.
        """
        if self._table is None:
            raise RuntimeError("await start() first")
        return self._table

    def check_counted(self, manifest: Manifest) -> None:
        """Check that nobody asks for more of users' turns than is counted since the start.

        Raises:
            DeploymentError: somebody does.
        """
        if self.counted_s is not None and manifest.recent_turns_s > self.counted_s:
            raise DeploymentError(
                f"a processor asks for its users' turns of {manifest.recent_turns_s:.0f} s, and this worker counts "
                f"{self.counted_s:.0f} s since its start: start workers anew once it is deployed, or list it in the Deps"
            )

    def take(self, key: str, record: DeploymentRecord | None, offset: int, news: bool) -> None:
        """Fold a record in."""
        self._board = self._board.after(key, record, offset)
        self._seen = offset
        self._unreadable = None
        if news:
            self._dirty.set()

    def unreadable(self, offset: int, why: str) -> None:
        """Note that a record cannot be read here: nothing is made of what may be half of it."""
        self._seen = offset
        self._unreadable = f"record {offset} of deployments cannot be read: {why}"
        self._dirty.set()

    async def start(self) -> None:
        """Install what is deployed.

        Raises:
            DepsError: it cannot be run here: there are no chains to fall back on, and less than all of it must not run.
            ChainsError: the processes did not come to an answer.
        """
        self._dirty.clear()
        await self._settle()
        self._tell()

    async def run(self) -> None:
        """Follow what is deployed, for as long as this is awaited."""
        while True:
            await self._dirty.wait()
            await asyncio.sleep(PAUSE_S)
            self._dirty.clear()
            try:
                await self._settle()
            except (DepsError, ChainsError) as error:
                log.error("what is deployed is refused, and the chains stay as they were: %s", error)  # noqa: TRY400 - ours
                self._refused = str(error)
            else:
                self._refused = None
            self._tell()

    async def revive(self, pinned: Sequence[Started]) -> None:
        """Install again what turns have pinned that were begun elsewhere or before, as far as its code is still here."""
        for started in {one.pin: one for one in pinned}.values():
            chains = await self._revived_chains(started)
            if chains is not None:
                self._revived.add(chains.pin)
                self.table.keep(chains)
            log.info(
                "chains %s of open turns are %s", started.pin or "(none)", "gone" if chains is None else "here again"
            )

    async def _revived_chains(self, started: Started) -> TurnChains | None:
        plan = Plan(tuple(self._configured(choice) for choice in unpinned(started.chain)))
        try:
            chains = await self._chains(plan)
        except (DepsError, ChainsError):
            return None
        if chains.pin == started.pin:
            return chains
        self._forget([chains])
        return None

    def _configured(self, choice: Choice) -> Choice:
        """Return a choice with what was pushed under that version, if anything was."""
        pushed = self._board.versions.get(f"{choice.kind}/{choice.name}@{choice.version}")
        if pushed is None:
            return choice
        return replace(choice, code=pushed.code, digest=pushed.digest, config=spelt(pushed.config))

    async def _settle(self) -> None:
        if self._unreadable is not None:
            raise DepsError(self._unreadable)
        board = self._board
        usual = await self._chains(plan_of(board.choices.values()))
        tenants = {one: await self._chains(plan_of(board.choices.values(), one)) for one in board.tenants}
        if self._table is None:
            self._table = ChainTable(usual)
        self._table.begin_with(usual, tenants)
        await self._follow_shadow(board)
        self._forget(self._table.forget_all_but({*self.pinned(), *self._revived}))
        log.info(
            "turns begin with chains %s: %s", usual.pin or "(none)", ", ".join(usual.policy.chain) or "no processors"
        )

    async def _follow_shadow(self, board: Board) -> None:
        """Have the versions in the shadow follow the board. What is wrong with them concerns nobody else."""
        if self.shadow is None:
            return
        members = frozenset(one.name for one in board.choices.values() if one.shadow is not None)
        wrong = await self.shadow.use(shadow_plan(board), members)
        if wrong is not None:
            log.warning("no version runs in the shadow: %s", wrong)

    async def _chains(self, plan: Plan) -> TurnChains:
        known = self._plans.get(plan)
        if known is None:
            installed = await self._installer.install(plan)
            try:
                known = self._make(plan, installed)
            except BaseException:
                self._installer.uninstall(installed)
                raise
            twin = next((chains for chains in self._plans.values() if chains.pin == known.pin), None)
            if twin is not None:  # another way to say the same
                self._installer.uninstall(installed)
                known = twin
            self._plans[plan] = known
        return known

    def _forget(self, gone: Iterable[TurnChains]) -> None:
        for chains in gone:
            for plan in [plan for plan, made in self._plans.items() if made is chains]:
                del self._plans[plan]
            if chains.runner is not None:
                self._installer.uninstall(chains.runner)

    def _tell(self) -> None:
        table = self.table
        manifest = table.usual.runner.manifest if table.usual.runner is not None else Manifest()
        self._changed(
            Running(
                active=tuple(f"{member.ref}#{member.digest}" for member in manifest.everything),
                available=self._installer.available,
                chain="+".join(dict.fromkeys(one.pin for one in table.begun_with)) or "none",
                offset=self._seen,
                refused=self._refused,
            )
        )
