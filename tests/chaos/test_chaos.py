"""Promise 2 on real brokers: whoever dies, no reader can tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.gate.records import JOURNAL_VERSION
from streams.process import EXIT_FATAL
from tests.brokers.broker import Broker
from tests.chaos.arena import open_arena
from tests.chaos.crew import eventually
from tests.chaos.faults import CHANGED, FAULTS, ROLLED_BACK, UPGRADED, Fault, Scene, older_build
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
        assert arena.verdicts["as changed"] + arena.verdicts["failed"], "no turn met the changed chain"


@pytest.mark.long_form
async def test_builds_with_another_journal(broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form) -> None:
    """A newer build takes open turns over from an older one, and the other way round; one that is too old ends at once."""
    older = older_build(JOURNAL_VERSION - 1)
    too_old: list[Worker] = []

    async def join(_: Scene) -> None:
        too_old.extend(arena.pipeline.start("turns", command=older_build(0)))
        await eventually(lambda: not too_old[0].alive, "the build that is too old ends")

    writes = JOURNAL_VERSION - 1
    async with open_arena(
        broker, prefix, tmp_path, rows, mode="incremental", form=form, turns_command=older, journal_version=writes
    ) as arena:
        await arena.strike_all([UPGRADED, ROLLED_BACK, Fault("a build that is too old joins", join, spares_calls=True)])
        assert too_old[0].process.returncode == EXIT_FATAL
        assert "start the newer turngate again" in too_old[0].log.read_text(encoding="utf-8")


@pytest.mark.long_form
@pytest.mark.only_brokers("apache")
async def test_a_broker_may_be_killed(broker: Broker, prefix: str, tmp_path: Path, rows: Rows, form: Form) -> None:
    """The only broker is killed and started again: what it had acknowledged is still there, and work goes on."""

    async def restart() -> None:
        await asyncio.to_thread(broker.restart)

    async with open_arena(broker, prefix, tmp_path, rows, mode="incremental", form=form, hit_broker=restart) as arena:
        await arena.strike_all([one for one in FAULTS if one.suits == "broker"])
