"""A consumer that died in silence is noticed, and one that merely has nothing to do is not."""

from __future__ import annotations

from streams.faust_shell.watchdog import Progress

PLACE = ("requests", 3)


def test_lag_that_does_not_move_is_a_stall() -> None:
    """More is there than was delivered, and for as long as the limit says nothing comes."""
    progress = Progress(stall_s=10)
    progress.delivered(PLACE, 4)
    assert progress.stalled({PLACE: 6}, now=100) is None
    assert progress.stalled({PLACE: 6}, now=109) is None
    assert progress.stalled({PLACE: 7}, now=110) == PLACE


def test_lag_that_moves_is_none() -> None:
    """Every delivery begins the wait anew, however much is still waiting."""
    progress = Progress(stall_s=10)
    progress.delivered(PLACE, 4)
    assert progress.stalled({PLACE: 60}, now=100) is None
    progress.delivered(PLACE, 5)
    assert progress.stalled({PLACE: 60}, now=115) is None
    assert progress.stalled({PLACE: 60}, now=124) is None
    assert progress.stalled({PLACE: 60}, now=125) == PLACE


def test_an_idle_partition_is_never_stalled() -> None:
    """What was delivered is all there is, or nothing was ever delivered from here."""
    progress = Progress(stall_s=10)
    progress.delivered(PLACE, 4)
    assert progress.stalled({PLACE: 5, ("requests", 0): 9}, now=100) is None
    assert progress.stalled({PLACE: 5, ("requests", 0): 9}, now=500) is None


def test_a_new_assignment_starts_over() -> None:
    """What a partition waited for before it moved away says nothing about the consumer that has it now."""
    progress = Progress(stall_s=10)
    progress.delivered(PLACE, 4)
    progress.stalled({PLACE: 6}, now=100)
    progress.forget()
    assert progress.stalled({PLACE: 6}, now=200) is None
