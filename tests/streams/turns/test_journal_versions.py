"""Upgrades that can be rolled back: what a newer build writes the older one reads, until a setting is raised."""

from __future__ import annotations

import orjson
import pytest
from pydantic import ValidationError

from streams.gate import records
from streams.gate.records import JOURNAL_VERSION, JournalError
from streams.journal.keys import is_claim
from streams.settings import Settings
from streams.tracing.turns import TurnTracing
from streams.turns.desk_settings import DeskSettings
from streams.turns.worker import WorkerSettings
from tests.memory.power import Power
from tests.memory.simtime import simulate
from tests.streams.tracing.kept import Kept
from tests.streams.turns.scenarios import FINISH, INCREMENTAL
from tests.streams.turns.simulation import JOURNAL, REQUESTS, Process, Scenario, Seen, World, look, turn
from topics import codec
from topics.trace_context import TraceContext

WORDS = ("The parcel that you asked for ", "went out on Tuesday, ", "call 555-0123 ", "if it is not there.", FINISH)
CALLER = TraceContext("ab" * 16, "cd" * 8, sampled=True)
#: What a build that knows journals up to a version can run: the first one knew no ids of chains.
RUNS = {
    1: Scenario("live", (), {"t": [WORDS]}),
    2: Scenario("redacted", (), {"t": [WORDS]}, INCREMENTAL),
    3: Scenario("redacted", (), {"t": [WORDS]}, INCREMENTAL),
}


class Rolled:
    """A traced turn, in a pipeline whose worker is another build after each cut.

    `builds` are the version that each knows, and the one that it may write.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, scenario: Scenario, builds: list[tuple[int, int]]) -> None:
        self._monkeypatch = monkeypatch
        self._builds = builds
        self.world = World(scenario)
        self.world.broker.append(REQUESTS, 0, None, codec.encode(turn()), CALLER.headers)

    async def play(self, cuts: list[int]) -> Seen:
        """Have each worker die at its boundary, but for the last one."""
        power = Power()
        for (knows, writes), cut in zip(self._builds, [*cuts, None], strict=True):
            self._monkeypatch.setattr(records, "JOURNAL_VERSION", knows)
            power = Power(cut_at=cut)
            desk = DeskSettings(partitions=1, traced=True, journal_version=writes)
            process = Process(self.world, power, settings=WorkerSettings(desk), tracer=TurnTracing(Kept()))
            try:
                if await process.start():
                    await process.work()
            finally:
                await process.end()
        return look(self.world, power)

    @property
    def versions(self) -> set[int]:
        """The versions of all records that were ever journaled of the turn."""
        rows = self.world.broker.read(JOURNAL)
        turns = [one for one in rows if not is_claim(one.key) and one.key is not None and one.key.count(b"/") == 4]
        return {orjson.loads(one.value)["v"] for one in turns if one.value is not None}


def undisturbed(monkeypatch: pytest.MonkeyPatch, old: int, writes: int) -> tuple[Rolled, Seen]:
    """Return what a worker of this build does alone."""
    rolled = Rolled(monkeypatch, RUNS[old], [(JOURNAL_VERSION, writes)])
    return rolled, simulate(rolled.play([]))


@pytest.mark.parametrize("old", [1, 2])
def test_an_upgrade_can_be_rolled_back_at_any_moment(monkeypatch: pytest.MonkeyPatch, old: int) -> None:
    """From the older build to this one and back: the text is the same, wherever the two take over."""
    writes = max(old, 2)
    _, expected = undisturbed(monkeypatch, old, writes)
    assert expected.outcomes == {"default/h/t": "completed"}
    for cut in range(len(expected.boundaries)):
        builds = [(old, old), (JOURNAL_VERSION, writes), (old, old)]
        rolled = Rolled(monkeypatch, RUNS[old], builds)
        seen = simulate(rolled.play([cut, 12]))
        assert (seen.texts, seen.outcomes) == (expected.texts, expected.outcomes), f"taken over at {cut}"
        assert max(rolled.versions) <= old


@pytest.mark.parametrize("writes", [2, 3])
def test_nothing_newer_is_written_than_the_setting_allows(monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """And what it does allow is, so that the other tests have something to do with."""
    rolled, seen = undisturbed(monkeypatch, 2, writes)
    assert max(rolled.versions) == writes
    text = "The parcel that you asked for went out on Tuesday, call ###-#### if it is not there."
    assert seen.texts == {"default/h/t": text}


def test_once_the_setting_is_raised_the_older_build_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not go on without what it cannot read."""
    rolled = Rolled(monkeypatch, RUNS[3], [(JOURNAL_VERSION, JOURNAL_VERSION), (2, 2)])
    with pytest.raises(JournalError, match="start the newer turngate again"):
        simulate(rolled.play([12]))


def test_the_setting_knows_this_build_s_versions() -> None:
    """The newest is the default as long as no release came before that knew less."""
    assert Settings().journal_version == JOURNAL_VERSION
    with pytest.raises(ValidationError, match="less than or equal"):
        Settings(journal_version=JOURNAL_VERSION + 1)
