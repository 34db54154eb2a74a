"""Promise 2, without a broker: wherever a turn worker dies, readers end up with what they would have had."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processors import Deps
from tests.memory.simtime import simulate
from tests.streams.turns.scenarios import (
    BY_NAME,
    INCREMENTAL,
    ONE,
    SCANNED,
    SCENARIOS,
    STORY,
    WHOLE,
    late_rejection,
    prefixer,
    redact,
    shout,
    tagger,
)
from tests.streams.turns.simulation import Said, Scenario, Seen, cancel, run, run_with_a_sleeper

_UNDISTURBED: dict[str, Seen] = {}


def undisturbed(scenario: Scenario) -> Seen:
    """Return what readers see when nobody dies."""
    if scenario.name not in _UNDISTURBED:
        _UNDISTURBED[scenario.name] = simulate(run(scenario))
    return _UNDISTURBED[scenario.name]


def assert_same(seen: Seen, expected: Seen, where: str) -> None:
    """Check that nobody could tell the two runs apart."""
    assert seen.texts == expected.texts, where
    assert seen.replies == expected.replies, where
    assert seen.outcomes == expected.outcomes, where
    assert seen.usage.keys() == expected.usage.keys(), where
    assert seen.prompts.keys() == expected.prompts.keys(), where
    assert seen.calls.keys() == expected.calls.keys(), where
    assert seen.dead_letters == expected.dead_letters, where
    assert seen.journal == expected.journal, where
    assert seen.transcripts == expected.transcripts, where


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_an_undisturbed_run_ends_every_turn_and_leaves_one_row_of_each(scenario: Scenario) -> None:
    """The yardstick of the other tests is itself in order."""
    seen = undisturbed(scenario)
    assert "open" not in seen.outcomes.values()
    assert set(seen.journal) == set(seen.outcomes)
    assert set(seen.journal.values()) == {1}
    told = {said.turn_id for entries in seen.transcripts.values() for said in entries}
    assert told <= {key.split("/")[-1] for key in seen.outcomes}


@pytest.mark.parametrize(
    ("name", "turn", "ended"),
    [
        ("budget-used-up", "c", ("blocked", "token-budget", None)),
        ("budget-used-up-between-steps", "t", ("failed", None, "governance")),
        ("rate-limited", "c", ("blocked", "rate-limit", None)),
    ],
)
def test_who_has_used_up_what_there_is_goes_no_further(name: str, turn: str, ended: object) -> None:
    """The scenarios in which workers die below are about this."""
    views = {key.rpartition("/")[2]: view.terminal for key, view in undisturbed(BY_NAME[name]).views.items()}
    frame: Any = views.pop(turn)
    assert (frame.kind, frame.processor, getattr(frame, "phase", None)) == ended
    assert {one.kind for one in views.values() if one is not None} <= {"completed"}


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "uncommitted"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_worker_may_die_at_any_boundary(scenario: Scenario, commits: bool) -> None:
    """One death at each boundary in turn; what was acknowledged is committed, or all of it comes again."""
    expected = undisturbed(scenario)
    for cut, boundary in enumerate(expected.boundaries):
        seen = simulate(run(scenario, [cut], commits=commits))
        assert_same(seen, expected, f"{scenario}: died at boundary {cut}, {boundary}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(data=st.data())
def test_workers_may_die_one_after_the_other(scenario: Scenario, data: st.DataObject) -> None:
    """Several deaths in one run; what was on its way arrives in part, and the journal may be compacted in between."""
    expected = undisturbed(scenario)
    cuts = data.draw(st.lists(st.integers(0, len(expected.boundaries) + 5), min_size=2, max_size=4), label="cuts")
    seed = data.draw(st.integers(0, 1_000), label="fate")
    commits, compact, lagging = (data.draw(st.booleans(), label=name) for name in ("commits", "compact", "lagging"))
    seen = simulate(run(scenario, cuts, fate=Random(seed), commits=commits, compact=compact, lagging=lagging))
    assert_same(seen, expected, f"{scenario}: died at {cuts}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_compaction_between_owners_loses_nothing(scenario: Scenario) -> None:
    """Each owner clears its predecessors' claims; the rows written under those claims must go on to hold.

    Three deaths far apart, so that the turns' rows outlive the claims they were written under.
    """
    expected = undisturbed(scenario)
    count = len(expected.boundaries)
    for first in range(2, count, 4):
        seen = simulate(run(scenario, [first, 12, 12, 12], compact=True, commits=first % 2 == 0))
        assert_same(seen, expected, f"{scenario}: died at boundary {first} and three times more")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_successor_may_meet_everything_at_once(scenario: Scenario) -> None:
    """Records that come in one batch instead of one by one change when text is released, never what it is in the end.

    A turn that is ended from outside or refused may by then have released less, or more: never anything else.
    """
    expected = undisturbed(scenario)
    for cut in range(0, len(expected.boundaries), 3):
        seen = simulate(run(scenario, [cut], commits=False, flood=True))
        assert seen.outcomes == expected.outcomes, cut
        assert seen.usage.keys() == expected.usage.keys(), cut
        for name, outcome in expected.outcomes.items():
            mine, theirs = seen.texts[name], expected.texts[name]
            if outcome == "completed":
                assert mine == theirs, cut
            assert mine.startswith(theirs) or theirs.startswith(mine), cut


@pytest.mark.parametrize("wakes_early", [True, False], ids=["wakes-early", "wakes-late"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_superseded_worker_that_wakes_up_changes_nothing(scenario: Scenario, wakes_early: bool) -> None:
    """Stopped at any boundary and woken after its takeover, it may only repeat what it had validly journaled."""
    expected = undisturbed(scenario)
    for boundary in range(2 + wakes_early, len(expected.boundaries), 3):
        seen = simulate(run_with_a_sleeper(scenario, boundary, wakes_early=wakes_early))
        assert_same(seen, expected, f"{scenario}: stood still at boundary {boundary}, {expected.boundaries[boundary]}")


@pytest.mark.parametrize("name", ["live", "incremental", "retried-with-reset", "rejected-late"])
def test_what_is_owed_stays_owed_until_it_is_out(name: str) -> None:
    """Publishing is slow here: a second death comes while the successor still publishes what its predecessor owed."""
    scenario = BY_NAME[name]
    expected = undisturbed(scenario)
    for first in range(4, len(expected.boundaries), 2):
        for second in range(3, 14, 2):
            seen = simulate(run(scenario, [first, second], lagging=True))
            assert_same(seen, expected, f"{scenario}: died at {first}, then at {second}")


@pytest.mark.parametrize("wakes_early", [True, False], ids=["wakes-early", "wakes-late"])
def test_a_superseded_worker_contradicts_nobody(wakes_early: bool) -> None:
    """Its chain would show other words than its successor's: what it makes of records after its takeover stays unseen."""
    scenario = Scenario("", (*ONE, Said(cancel(), frames=100)), {"t": [STORY]}, INCREMENTAL)
    count = len(simulate(run(scenario)).boundaries)
    after = Deps(output_processors=[shout])
    ends = set()
    for boundary in range(2, count):
        seen = simulate(run_with_a_sleeper(scenario, boundary, wakes_early=wakes_early, redeclared=after))
        ends.add(seen.outcomes["default/h/t"])
    assert ends == {"completed", "failed"}


REDECLARED = {
    "the same words louder": (INCREMENTAL, Deps(output_processors=[shout])),
    "a chain where there was none": (Deps(), INCREMENTAL),
    "no chain where there was one": (INCREMENTAL, Deps()),
    "prefix passes no more": (INCREMENTAL, WHOLE),
    "prefix passes from now on": (WHOLE, INCREMENTAL),
    "scanners from now on": (INCREMENTAL, SCANNED),
    "scanners no more": (SCANNED, INCREMENTAL),
    "scanners where there was nothing": (Deps(), SCANNED),
    "a rejection": (Deps(), Deps(output_processors=[late_rejection])),
    "more kinds": (Deps(), Deps(pre_processors=[tagger], input_processors=[prefixer], output_processors=[redact])),
    "fewer kinds": (Deps(pre_processors=[tagger], input_processors=[prefixer], output_processors=[redact]), Deps()),
}


@pytest.mark.parametrize("change", REDECLARED)
def test_a_chain_may_change_in_mid_turn(change: str) -> None:
    """Text under a changed chain is what one of the chains would have shown, or the turn ends; nothing is contradicted."""
    before, after = REDECLARED[change]
    old, new = (Scenario("", ONE, {"t": [STORY]}, deps) for deps in (before, after))
    expected, afterwards = simulate(run(old)), simulate(run(new))
    whole_texts = {expected.texts["default/h/t"], afterwards.texts["default/h/t"]}
    shown = {
        "Call me at 555-0123 or not.",
        "Call me at ###-#### or not.",
        "Call me at <number>-<number> or not.",
        "CALL ME AT 555-0123 OR NOT.",
    }
    for cut, boundary in enumerate(expected.boundaries):
        seen = simulate(run(old, [cut], redeclared=after))
        text, outcome = seen.texts["default/h/t"], seen.outcomes["default/h/t"]
        assert outcome in {"completed", "failed", "rejected"}, boundary
        if outcome == "completed":
            assert text in whole_texts, boundary
        assert any(whole.startswith(text) for whole in shown), boundary


def test_a_changed_chain_fails_turns_that_it_would_contradict() -> None:
    """The test above is not passed by everything ending well: some deaths leave text that the new chain takes back."""
    before, after = REDECLARED["the same words louder"]
    scenario = Scenario("", ONE, {"t": [STORY]}, before)
    count = len(simulate(run(scenario)).boundaries)
    ends = {simulate(run(scenario, [cut], redeclared=after)).outcomes["default/h/t"] for cut in range(count)}
    assert ends == {"completed", "failed"}
