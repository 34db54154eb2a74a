"""Promise 2 on real brokers: whoever dies, no reader can tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.process import EXIT_FATAL
from tests.brokers.broker import Broker
from tests.chaos.arena import open_arena
from tests.chaos.faults import CHANGED, FAULTS, UPGRADED, Fault, Scene, eventually
from tests.chaos.report import Form, Rows
from tests.integration.pipeline import Worker

pytestmark = pytest.mark.chaos


async def test_no_reader_can_tell_who_died(
    broker: Broker, prefix: str, tmp_path: Path, rows: Rows, mode: str, form: Form
) -> None:
    """Each fault strikes in the middle of a wave of turns, and every reader ends with the undisturbed run's text."""
    async with open_arena(broker, prefix, tmp_path, rows, mode=mode, form=form) as arena:
        for fault in FAULTS:
            if fault.suits == "anywhere" and (fault.short or form == "full"):
                await arena.strike(fault)
                await arena.crew.settle()


@pytest.mark.long_form
@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
async def test_restarts_are_not_noticed(
    broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form, static: bool
) -> None:
    """Workers are restarted, one after the other or after a death, known to their group by name or not."""
    async with open_arena(
        broker, prefix, tmp_path, rows, mode="incremental", form=form, static=static, session_timeout_s=10
    ) as arena:
        for fault in FAULTS:
            if fault.suits == "restarts":
                await arena.strike(fault)
                await arena.crew.settle()


@pytest.mark.long_form
async def test_a_changed_chain_never_contradicts_itself(
    broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form
) -> None:
    """Workers come back with another version of a processor: a text is as either has it, or its turn has failed."""
    async with open_arena(broker, prefix, tmp_path, rows, mode="incremental", form=form) as arena:
        await arena.strike(CHANGED, chain_after="streaming_changed")


@pytest.mark.long_form
async def test_builds_with_another_journal(broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form) -> None:
    """A newer build takes open turns over from an older one; an older one that meets a newer journal ends at once."""
    older: list[Worker] = []

    async def join(_: Scene) -> None:
        older.extend(arena.pipeline.start("turns"))
        await eventually(lambda: not older[0].alive, "the older build ends")

    async with open_arena(broker, prefix, tmp_path, rows, mode="incremental", form=form) as arena:
        await arena.strike(UPGRADED)
        await arena.strike(Fault("an older build joins", join, spares_calls=True))
        assert older[0].process.returncode == EXIT_FATAL
        assert "start the newer turngate again" in older[0].log.read_text(encoding="utf-8")


@pytest.mark.long_form
@pytest.mark.only_brokers("apache")
async def test_a_broker_may_be_killed(broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form) -> None:
    """The only broker is killed and started again: what it had acknowledged is still there, and work goes on."""

    async def restart() -> None:
        await asyncio.to_thread(broker.restart)

    async with open_arena(broker, prefix, tmp_path, rows, mode="incremental", form=form, hit_broker=restart) as arena:
        for fault in FAULTS:
            if fault.suits == "broker":
                await arena.strike(fault)
