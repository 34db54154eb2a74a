"""Which turns are looked at because time passes: all that are due, and next to none that are not."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gate import machine
from streams.gate.policy import Policy
from streams.gate.state import Turn
from streams.turns.wakeups import LOOK_S, WakeUps
from tests.streams.at_once import at_once
from tests.streams.turns.desks import NOW, PARTITION, PARTITIONS, Journal, a_desk, frame, source
from tests.streams.turns.simulation import turn
from topics import names
from topics.ids import ThreadKey, TurnKey

KEYS = [TurnKey("default", "h", f"t{number}") for number in range(5)]
#: Threads of the desk's partition.
THREADS = [
    name for name in (f"h{n}" for n in range(160)) if ThreadKey("default", name).partition(PARTITIONS) == PARTITION
]
MOVES = st.lists(st.tuples(st.sampled_from(KEYS), st.floats(0, 100), st.floats(0, 5)), max_size=60)


@given(MOVES)
def test_a_turn_is_looked_at_by_the_earliest_time_that_was_said(moves: list[tuple[TurnKey, float, float]]) -> None:
    """And not before, whatever was said of it and of others in between."""
    wakeups, expected, now = WakeUps(), dict[TurnKey, float](), 0.0
    for key, at, passes in moves:
        wakeups.by(key, at, now)
        expected[key] = min(expected.get(key, math.inf), at, now + LOOK_S)
        now += passes
        due = {key for key, at in expected.items() if at <= now}
        assert set(wakeups.due(now)) == due
        expected = {key: at for key, at in expected.items() if key not in due}


def test_nothing_is_kept_for_long_of_turns_that_have_ended() -> None:
    """Each turn leaves a few times behind, and there are thousands of turns in a minute."""
    wakeups = WakeUps()
    for number in range(1_000):
        key = TurnKey("default", f"h{number}", "t")
        wakeups.by(key, math.inf, 0.0)
        wakeups.by(key, 10.0, 0.0)
    assert len(wakeups.due(LOOK_S)) == 1_000, "each once"
    assert len(wakeups) == 0


def test_open_turns_with_time_left_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick costs the same with many of them as with none."""
    desk = a_desk(Policy(idle_timeout_s=30, turn_timeout_s=600))
    desk.take([source(turn("t", thread)) for thread in THREADS], NOW)
    assert len(desk.turns) == len(THREADS)
    looked: list[Turn] = []
    wake_at = machine.wake_at

    def noting(one: Turn, policy: Policy, listening_since: float = 0.0) -> float:
        looked.append(one)
        return wake_at(one, policy, listening_since)

    monkeypatch.setattr(machine, "wake_at", noting)
    for tick in range(1, 50):
        assert desk.overdue(NOW + 0.25 * tick, 0.0) == []
    assert looked == []
    assert desk.overdue(NOW + LOOK_S, 0.0) == []
    assert len(looked) == len(THREADS), "now and then each is"


def test_every_turn_that_is_overdue_is_found_among_many() -> None:
    """Whichever frames came meanwhile, and whenever somebody looks: the same as asking each of them."""
    policy = Policy(idle_timeout_s=20, turn_timeout_s=90)
    desk = a_desk(policy)
    desk.take([source(turn("t", thread)) for thread in THREADS], NOW)
    desk.take([source(turn("later", thread)) for thread in THREADS[:3]], NOW)
    found = 0
    for seconds in range(1, 120):
        now = NOW + seconds
        # Each speaks at intervals of its own, so that some fall silent for too long and others last until their deadline.
        speaking = [place for place in range(1, len(THREADS) + 1) if seconds % place == 0]
        frames = [frame(seconds // place - 1, "t", THREADS[place - 1], text="a ") for place in speaking]
        desk.take([source(one, topic=names.FRAMES) for one in frames], now)
        expected = {key for key, one in desk.turns.items() if not one.over and machine.wake_at(one, policy) <= now}
        ticks = desk.overdue(now, 0.0)
        assert {tick.turn for tick in ticks} == expected, seconds
        desk.take(ticks, now)
        found += len(ticks)
    assert found == len(desk.turns)


def test_a_restored_turn_is_looked_at_again() -> None:
    """Whoever takes it over was not there when its times were said."""
    policy = Policy(idle_timeout_s=20, turn_timeout_s=90)
    journal, first = Journal(), a_desk(policy)
    journal.note(first.take([source(turn("t", THREADS[0]))], NOW))
    second = a_desk(policy)
    at_once(second.restore(journal.by_turn()))
    assert second.overdue(NOW + 5, 0.0) == []
    assert len(second.overdue(NOW + 20, 0.0)) == 1
