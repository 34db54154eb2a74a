"""A consumer that died in silence is noticed, and one that merely has nothing to do is not."""

from __future__ import annotations

from streams.faust_shell.watchdog import Standstill

PLACE = ("requests", 3)


def test_a_position_that_stands_before_the_end_is_a_stall() -> None:
    """More is there, and for as long as the limit says nothing is fetched."""
    still = Standstill(stall_s=10)
    assert still.look({PLACE: 5}, {PLACE: 6}, now=100) is None
    assert still.look({PLACE: 5}, {PLACE: 6}, now=109) is None
    assert still.look({PLACE: 5}, {PLACE: 7}, now=110) == PLACE


def test_a_position_that_moves_is_none() -> None:
    """Every fetch begins the wait anew, however much is still waiting."""
    still = Standstill(stall_s=10)
    assert still.look({PLACE: 5}, {PLACE: 60}, now=100) is None
    assert still.look({PLACE: 6}, {PLACE: 60}, now=115) is None
    assert still.look({PLACE: 6}, {PLACE: 60}, now=124) is None
    assert still.look({PLACE: 6}, {PLACE: 60}, now=125) == PLACE


def test_a_position_at_the_end_may_stand_as_long_as_it_likes() -> None:
    """Also where the end is behind a transaction's marker: the position moves past markers, deliveries never do."""
    still = Standstill(stall_s=10)
    assert still.look({PLACE: 6}, {PLACE: 6}, now=100) is None
    assert still.look({PLACE: 6}, {PLACE: 6}, now=500) is None


def test_a_partition_that_moved_away_is_forgotten() -> None:
    """What it waited for before says nothing about the consumer that has it when it comes back."""
    still = Standstill(stall_s=10)
    still.look({PLACE: 5}, {PLACE: 6}, now=100)
    still.look({}, {}, now=105)
    assert still.look({PLACE: 5}, {PLACE: 6}, now=200) is None
    assert still.look({PLACE: 5}, {PLACE: 6}, now=210) == PLACE
