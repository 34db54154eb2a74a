"""What turn workers write while an upgrade may still be rolled back: journals that the older build can read."""

from __future__ import annotations

import json

import pytest

from processors import Answer, Deps, Incremental, Replace, output_processor
from processors.builtin import emails
from streams.gate import records
from streams.journal.keys import is_claim
from streams.turns.desk import DeskSettings
from streams.turns.worker import WorkerSettings
from tests.memory.power import Power
from tests.memory.simtime import simulate
from tests.streams.turns.scenarios import FINISH
from tests.streams.turns.simulation import JOURNAL, Process, Said, Scenario, World, turn

WORDS = ("The parcel goes out on Tuesday; write to ", "bob.ray@example.com if it does not, or call me then. ") * 3


@output_processor(name="hide-bob", incremental=Incremental(lookback_chars=64))
def hide_bob(answer: Answer) -> Replace:
    """Hide a name."""
    return Replace(answer.text.replace("bob", "***"))


@output_processor(name="hide-bob-whole")
def hide_bob_whole(answer: Answer) -> Replace:
    """Hide a name, once the answer is complete."""
    return Replace(answer.text.replace("bob", "***"))


CHAINS = {
    "scanners": Deps(output_processors=[emails()]),
    "incremental": Deps(output_processors=[hide_bob]),
    "whole": Deps(output_processors=[hide_bob_whole]),
}


async def played(deps: Deps, version: int, cut: int | None = None, *, older: int | None = None) -> tuple[World, Power]:
    """Play one turn with a worker that writes `version`; if it dies at `cut`, an `older` build goes on."""
    world = World(Scenario("s", (Said(turn()),), {"t": [(*WORDS, FINISH)]}, deps))
    settings = WorkerSettings(DeskSettings(partitions=1, journal_version=version))
    first = Process(world, Power(cut_at=cut), settings=settings)
    over = await first.start() and await first.work()
    await first.end()
    if not over:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(records, "JOURNAL_VERSION", older or version)
            heir = Process(world, Power(), settings=settings)
            assert await heir.start()
            assert await heir.work()
            await heir.end()
    return world, first.power


def shown(world: World) -> list[tuple[str, str]]:
    """Return what readers see of the turn: its text and how it ended."""
    return [(view.text, view.pending.kind) for view in world.views() if view.pending is not None and view.closed]


def versions(world: World) -> set[int]:
    """Return the versions of all records that a journal ever had of turns."""
    log = world.broker.read(JOURNAL)
    rows = [one.value for one in log if one.value is not None and not is_claim(one.key or b"")]
    return {said["v"] for row in rows if "k" in (said := json.loads(row))}


@pytest.mark.parametrize("chain", CHAINS)
def test_what_the_older_version_cannot_read_is_only_written_if_it_may_be(chain: str) -> None:
    """Readers see the same."""
    new, _ = simulate(played(CHAINS[chain], 3))
    old, _ = simulate(played(CHAINS[chain], 2))
    assert max(versions(new)) == 3
    assert max(versions(old)) <= 2
    assert len(shown(new)) == 1
    assert shown(new) == shown(old)


@pytest.mark.parametrize("chain", CHAINS)
def test_an_older_build_goes_on_from_it(chain: str) -> None:
    """Wherever the newer one died: an upgrade can be rolled back."""
    whole, power = simulate(played(CHAINS[chain], 2))
    assert len(shown(whole)) == 1
    for cut in range(0, len(power.passed), 5):
        world, _ = simulate(played(CHAINS[chain], 2, cut, older=2))
        assert shown(world) == shown(whole), cut
