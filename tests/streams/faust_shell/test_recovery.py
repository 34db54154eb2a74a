"""Rebalances and the end of recovery, step by step, on fakes that note what is done to them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from faust.tables.manager import TableManager
from faust.types import TP

from streams.faust_shell.recovery import JournalRecovery, JournalTables

JOURNAL, REQUESTS = "journal", "requests"
ASSIGNED = {TP(JOURNAL, 1), TP(REQUESTS, 1)}


class Stage:
    """An app, its consumer, its tables and their owner; `trace` is what is done to them, in order."""

    def __init__(self, *, breaks_on: str | None = None) -> None:
        self.trace: list[str] = []
        self.fatal: list[BaseException] = []
        self._breaks_on = breaks_on
        self.generation = 7
        consumer = SimpleNamespace(
            assignment=lambda: ASSIGNED,
            perform_seek=lambda: self._slowly("seek"),
            resume_partitions=lambda tps: self._note(f"resume {sorted(tp.topic for tp in tps)}"),
            resume_flow=lambda: self._note("let flow"),
        )
        self.app = SimpleNamespace(
            consumer=consumer,
            on_rebalance_complete=SimpleNamespace(send=lambda: self._slowly("announce")),
            flow_control=SimpleNamespace(resume=lambda: self._note("open flow control")),
            conf=SimpleNamespace(broker_request_timeout=1.0),
            _fetcher=SimpleNamespace(maybe_start=lambda: self._slowly("start fetcher")),
            on_rebalance_end=lambda: self._note("end rebalance"),
        )
        self.tables = SimpleNamespace(
            owner=self,
            fatal=self.fatal.append,
            on_actives_ready=lambda: None,
            on_standbys_ready=lambda: None,
            settled=lambda partitions: self._note(f"settled: {partitions}"),
        )

    def _note(self, what: str) -> None:
        self.trace.append(what)

    async def _slowly(self, what: str) -> None:
        await asyncio.sleep(0)
        if what == self._breaks_on:
            raise ConnectionError(what)
        self.trace.append(what)

    async def lose(self) -> None:
        """Be told of a loss."""
        await self._slowly("lose")

    async def claim(self, partitions: set[int]) -> None:
        """Be told to claim."""
        await self._slowly(f"claim {sorted(partitions)}")

    async def restore(self) -> None:
        """Be told to restore."""
        await self._slowly("restore")

    @property
    def consumer_generation_id(self) -> int:
        """The group's generation."""
        return self.generation

    async def complete(self, generation: int) -> None:
        """Let recovery end for `generation`."""
        recovery = cast("Any", JournalRecovery.__new__(JournalRecovery))
        recovery.app = _WithGeneration(self)
        recovery.tables = self.tables
        recovery._set_recovery_ended = lambda: None
        recovery._is_changelog_tp = lambda tp: tp.topic == JOURNAL
        recovery.completed = asyncio.Event()

        async def wait(coroutine: Any, timeout: float) -> None:  # noqa: ARG001, ASYNC109 - as Faust calls it
            await coroutine

        recovery._wait = wait
        await JournalRecovery.on_recovery_completed(recovery, generation)


class _WithGeneration:
    """The app, with a generation that can change meanwhile."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        if name == "consumer_generation_id":
            return self._stage.generation
        return getattr(self._stage.app, name)


async def test_turns_are_restored_before_the_seek_and_the_flow_is_opened_last() -> None:
    """A fetch from before the seek would skip records; one before the restoration would find no turns."""
    stage = Stage()
    await stage.complete(7)
    assert stage.trace == [
        "announce",
        "restore",
        "seek",
        "open flow control",
        "resume ['requests']",
        "let flow",
        "start fetcher",
        "end rebalance",
        "settled: 1",
    ]


async def test_an_older_generations_end_restores_nothing() -> None:
    """Another rebalance has begun: its own recovery will."""
    stage = Stage()
    await stage.complete(6)
    assert stage.trace == ["announce"]


async def test_a_generation_that_ends_during_the_restoration_opens_nothing() -> None:
    """Its partitions may be somebody else's already."""
    stage = Stage()

    async def restore() -> None:
        stage.trace.append("restore")
        stage.generation = 8

    stage.restore = restore  # type: ignore[method-assign]
    await stage.complete(7)
    assert stage.trace == ["announce", "restore"]


async def test_a_restoration_that_fails_ends_the_process_and_opens_nothing() -> None:
    """Faust would log it and let records flow to turns that are not there."""
    stage = Stage(breaks_on="restore")
    await stage.complete(7)
    assert [type(exc) for exc in stage.fatal] == [ConnectionError]
    assert stage.trace == ["announce"]


class Journal:
    """A journal table that says what it is told to own."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.changelog_topic = SimpleNamespace(get_topic_name=lambda: JOURNAL)

    def own(self, partitions: set[int]) -> None:
        """Note it."""
        self._stage.trace.append(f"own {sorted(partitions)}")


async def rebalance(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a rebalance assign `ASSIGNED`; return the tables."""

    async def on_rebalance(*_: Any) -> None:
        stage.trace.append("recover")

    monkeypatch.setattr(TableManager, "on_rebalance", on_rebalance)
    tables = cast("Any", JournalTables.__new__(JournalTables))
    tables.data = {"journal": Journal(stage)}
    tables._recovery = SimpleNamespace(active_offsets={TP(JOURNAL, 1): 55})
    tables.owner, tables.fatal = stage, stage.fatal.append
    tables.settled = lambda partitions: stage.trace.append(f"settled: {partitions}")
    await JournalTables.on_rebalance(tables, ASSIGNED, set(), ASSIGNED, 7)
    return tables


async def test_a_rebalance_loses_then_claims_the_journals_partitions_then_recovers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Source topics have no claim; the journal is read from its beginning."""
    stage = Stage()
    tables = await rebalance(stage, monkeypatch)
    assert stage.trace == ["settled: None", "lose", "own [1]", "claim [1]", "recover"]
    assert tables._recovery.active_offsets == {}


async def test_a_claim_that_fails_ends_the_process_and_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unclaimed partition could still be written by its former owner."""
    stage = Stage(breaks_on="claim [1]")
    await rebalance(stage, monkeypatch)
    assert [type(exc) for exc in stage.fatal] == [ConnectionError]
    assert "recover" not in stage.trace
