"""Promise 2 on real brokers: whoever dies, no reader can tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.process import EXIT_FATAL
from tests.brokers.broker import Broker
from tests.chaos.arena import open_arena
from tests.chaos.crew import eventually
from tests.chaos.faults import CHANGED, FAULTS, UPGRADED, Fault, Scene, older_build
from tests.chaos.report import Form, Rows
from tests.integration.pipeline import Worker

pytestmark = pytest.mark.chaos

#: A group that waits for a worker to come back; the same with static members and without, for comparison.
PATIENT_S = 45


async def test_no_reader_can_tell_who_died(
    broker: Broker, prefix: str, tmp_path: Path, rows: Rows, mode: str, form: Form
) -> None:
    """Each fault strikes in the middle of a wave of turns, and every reader ends with the undisturbed run's text."""
    async with open_arena(broker, prefix, tmp_path, rows, mode=mode, form=form) as arena:
        await arena.strike_all([one for one in FAULTS if one.suits == "anywhere" and (one.short or form == "full")])


@pytest.mark.long_form
async def test_restarts_are_not_noticed(broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form) -> None:
    """Workers are restarted, one after the other or after a death."""
    async with open_arena(
        broker, prefix, tmp_path, rows, mode="incremental", form=form, session_timeout_s=PATIENT_S
    ) as arena:
        await arena.strike_all([one for one in FAULTS if one.suits == "restarts"])


@pytest.mark.long_form
@pytest.mark.only_brokers("apache", "docker")
async def test_restarts_of_static_members(broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form) -> None:
    """The same with workers that their groups know by name: whoever is back in time moves no partition."""
    async with open_arena(
        broker, prefix, tmp_path, rows, mode="incremental", form=form, static=True, session_timeout_s=PATIENT_S
    ) as arena:
        await arena.strike_all([one for one in FAULTS if one.suits == "restarts"])


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
        older.extend(arena.pipeline.start("turns", command=older_build()))
        await eventually(lambda: not older[0].alive, "the older build ends")

    async with open_arena(
        broker, prefix, tmp_path, rows, mode="incremental", form=form, turns_command=older_build()
    ) as arena:
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
        await arena.strike_all([one for one in FAULTS if one.suits == "broker"])
