"""The load of the measurements of scale: as much for each partition, and the same frames for everybody."""

from __future__ import annotations

from collections import Counter

import pytest

from bench import scale
from bench.frames import FRAME_BYTES, interleaved, of_turns, turns
from bench.rounds import FailedError, Setting


@pytest.mark.parametrize("partitions", [1, 4, 64])
def test_each_partition_has_as_many_turns(partitions: int) -> None:
    """Or two workers would have shares of different sizes, and the slower one would be what is measured."""
    found = scale.spread(128, partitions)
    assert len(set(found)) == 128
    counts = Counter(turn.thread.partition(partitions) for turn in found)
    assert set(counts.values()) == {128 // partitions}
    assert len({turn.thread for turn in found}) == 128


def test_turns_that_are_numbered_from_elsewhere_are_others() -> None:
    """Those that only are open, and those that speak."""
    assert not set(scale.spread(100, 4)) & set(scale.spread(100, 4, 1_000_000))


def test_frames_of_given_turns_are_those_of_the_usual_ones() -> None:
    """In their partition among as many as there are."""
    assert list(of_turns(turns(3), 4)) == list(interleaved(3, 4))
    frames = list(of_turns(scale.spread(64, 64), 2, partitions=64))
    assert {frame.partition for frame in frames} == set(range(64))
    assert {len(frame.value) for frame in frames} == {FRAME_BYTES}


def test_everyone_is_compared_with_the_one_worker() -> None:
    """Who is first."""
    contenders = scale.contenders(Setting("nowhere:1"))
    assert [one.base for one in contenders] == [None, *[scale.BASE] * (len(contenders) - 1)]


def test_a_turn_whose_model_call_did_not_complete_counts_for_nobody() -> None:
    """A worker that fails turns would be the fastest."""
    assert scale.completed(b'{"id":"a","outcome":"completed"}') == 1
    with pytest.raises(FailedError, match="failed"):
        scale.completed(b'{"id":"a","outcome":"failed"}')
