"""How long a partition's work takes: from the oldest record that was read to what is confirmed because of it."""

from __future__ import annotations

import pytest

from processors.outcomes import Approved
from streams.gate import events
from streams.gate.policy import Policy
from streams.turns.inputs import News
from streams.turns.observer import Observer
from streams.turns.timing import HELD_S, Timing
from tests.streams.turns.desks import NOW, a_desk, frame_source, key, source
from tests.streams.turns.simulation import turn


class Noted(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.releases: list[float] = []
        self.firsts: list[float] = []
        self.holds: list[tuple[int, int, float]] = []
        self.held_for: list[float] = []

    def released(self, seconds: float) -> None:
        """Keep it."""
        self.releases.append(seconds)

    def first_release(self, seconds: float) -> None:
        """Keep it."""
        self.firsts.append(seconds)

    def held(self, partition: int, characters: int, oldest_s: float, held_s: float) -> None:
        """Keep it."""
        self.holds.append((partition, characters, oldest_s))
        self.held_for.append(held_s)


def test_a_release_is_timed_from_the_oldest_record_of_its_batch() -> None:
    """That which waited longest, and once for each record whose release is confirmed."""
    now, noted, desk = [NOW], Noted(), a_desk()
    timing = Timing(desk, noted, lambda: now[0])
    desk.take([source(turn())], NOW)
    timing.read()
    now[0] += 1
    timing.read()
    timing.taken(now[0])
    plan = desk.take([frame_source(0, text="Hello ")], now[0])
    timing.put(plan)
    timing.taken(now[0] + 1)  # nothing had waited for this one
    now[0] += 2
    other = desk.take([frame_source(1, text="you.")], now[0])
    timing.put(other)
    (first,), (second,) = plan.outgoing, other.outgoing
    timing.confirmed(key(), first.n)
    assert noted.releases == pytest.approx([3.0])
    timing.confirmed(key(), second.n)
    assert noted.releases == pytest.approx([3.0, 1.0])
    timing.confirmed(key(), second.n)
    assert len(noted.releases) == 2


def test_a_turn_s_first_text_is_timed_once() -> None:
    """From when the turn was taken in."""
    now, noted, desk = [NOW + 4], Noted(), a_desk()
    timing = Timing(desk, noted, lambda: now[0])
    desk.take([source(turn())], NOW)
    for number, text in enumerate(("Hello ", "you.")):
        timing.put(desk.take([frame_source(number, text=text)], now[0]))
    assert noted.firsts == pytest.approx([4.0])


def test_what_is_held_is_counted_now_and_then() -> None:
    """The oldest turn, whatever it waits for, and none where none is open."""
    noted, desk = Noted(), a_desk()
    timing = Timing(desk, noted, lambda: NOW)
    timing.count_held(NOW)
    desk.take([source(turn())], NOW)
    timing.count_held(NOW + HELD_S / 2)
    timing.count_held(NOW + HELD_S)
    assert noted.holds == [(desk.partition, 0, 0.0), (desk.partition, 0, pytest.approx(HELD_S))]


def test_text_that_is_held_ages_until_some_of_its_turn_is_released() -> None:
    """From when it was first seen to be held; what is held later of the same turn is younger."""
    noted = Noted()
    desk = a_desk(Policy(mode="whole"))
    timing = Timing(desk, noted, lambda: NOW)
    desk.take([source(turn())], NOW)
    at = NOW
    for number in range(3):
        at += HELD_S
        desk.take([frame_source(number, text="word ")], at)
        timing.count_held(at)
    assert noted.held_for == pytest.approx([0.0, HELD_S, 2 * HELD_S])
    passed = Approved("word word word ")
    desk.take([frame_source(3, finish_reason="stop")], at)
    desk.take([News(key(), events.PassDone(0, 0, 15, final=True, outcome=passed))], at)
    timing.count_held(at + HELD_S)
    assert noted.held_for[-1] == 0.0
