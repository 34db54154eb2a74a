"""Promise 2: whichever workers die, whenever, a reader ends with what an undisturbed run would have shown.

Here in memory, with any scenario and any deaths; `tests/streams/turns/test_crashes.py` goes through every boundary one by
one, and `tests/integration` kills real processes on real brokers.
"""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.simtime import simulate
from tests.streams.turns.scenarios import SCENARIOS
from tests.streams.turns.simulation import Scenario, Seen, run

_UNDISTURBED: dict[str, Seen] = {}


def undisturbed(scenario: Scenario) -> Seen:
    """Return what readers see when nobody dies."""
    if scenario.name not in _UNDISTURBED:
        _UNDISTURBED[scenario.name] = simulate(run(scenario))
    return _UNDISTURBED[scenario.name]


@settings(max_examples=60, deadline=None)
@given(
    scenario=st.sampled_from(SCENARIOS),
    deaths=st.lists(st.integers(0, 120), min_size=1, max_size=4),
    fate=st.integers(0, 1_000),
    commits=st.booleans(),
)
def test_no_reader_can_tell_who_died(scenario: Scenario, deaths: list[int], fate: int, commits: bool) -> None:
    """Texts, replies, outcomes, usage and prompts are those of the undisturbed run."""
    expected = undisturbed(scenario)
    seen = simulate(run(scenario, deaths, fate=Random(fate), commits=commits))
    assert seen.texts == expected.texts
    assert seen.replies == expected.replies
    assert seen.outcomes == expected.outcomes
    assert seen.usage.keys() == expected.usage.keys()
    assert seen.prompts.keys() == expected.prompts.keys()
