"""Which findings hold, and up to where a growing text is settled."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.patterns import Pattern, Span
from processors.patterns.settle import Finding, settle


class Said:
    """A finder that finds what it was told, and for which the text is open from `opened` on."""

    def __init__(self, *spans: tuple[int, int], opened: int = 100) -> None:
        self._spans = [Span(*span) for span in spans]
        self._opened = opened

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the protocol's
        """Yield what was told, from `start` on."""
        yield from (span for span in self._spans if span.start >= start)

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the place that was told, or `start`."""
        return max(min(self._opened, len(text)), start)


TEXT = "." * 20


def held(*finders: Said, ended: bool = True) -> list[tuple[int, int, int]]:
    """Return what holds."""
    return [(one.start, one.end, one.finder) for one in settle(finders, TEXT, 0, ended=ended).findings]


def test_of_findings_that_overlap_the_longest_holds() -> None:
    """Wherever it begins, and whoever found it."""
    assert held(Said((0, 4)), Said((2, 9))) == [(2, 9, 1)]
    assert held(Said((3, 5)), Said((0, 9))) == [(0, 9, 1)]
    assert held(Said((5, 9)), Said((0, 6))) == [(0, 6, 1)]


def test_of_equally_long_ones_the_first_declared_holds_then_the_leftmost() -> None:
    """Two of one finder never overlap but for a reader of folded text."""
    assert held(Said((2, 5)), Said((0, 3))) == [(2, 5, 0)]
    assert held(Said((2, 5)), Said((2, 5))) == [(2, 5, 0)]
    assert held(Said((0, 3), (2, 5))) == [(0, 3, 0)]


def test_findings_side_by_side_all_hold() -> None:
    """Touching is not overlapping, and what lost makes room."""
    assert held(Said((0, 3), (3, 6)), Said((6, 8))) == [(0, 3, 0), (3, 6, 0), (6, 8, 1)]
    assert held(Said((0, 3)), Said((2, 7)), Said((6, 8))) == [(2, 7, 1)]
    assert held(Said((0, 3)), Said((2, 7)), Said((5, 12))) == [(0, 3, 0), (5, 12, 2)]


@given(st.lists(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 5)), max_size=5), min_size=1, max_size=3))
def test_those_that_hold_are_those_that_a_plain_rule_picks(told: list[list[tuple[int, int]]]) -> None:
    """One by one in the order of their rank, each that none of those before it overlaps."""
    ranked = sorted(
        (-length, number, start) for number, some in enumerate(told) for start, length in some if start + length <= 20
    )
    picked: list[Finding] = []
    for minus_length, number, start in ranked:
        end = start - minus_length
        if all(end <= one.start or one.end <= start for one in picked):
            picked.append(Finding(start, end, number))
    finders = [Said(*((start, start + length) for start, length in some if start + length <= 20)) for some in told]
    assert settle(finders, TEXT, 0, ended=True) == (sorted(picked), 20)


def test_a_growing_text_is_settled_up_to_what_is_open_for_any_finder() -> None:
    """And to its end when it has ended."""
    finders = [Said(opened=12), Said(opened=7)]
    assert settle(finders, TEXT, 0, ended=False).end == 7
    assert settle(finders, TEXT, 0, ended=True).end == 20


def test_a_finding_that_something_open_could_overlap_is_not_settled() -> None:
    """A longer one may take its place; and so on with what overlaps that."""
    assert settle([Said((2, 9)), Said(opened=6)], TEXT, 0, ended=False) == ([], 2)
    assert settle([Said((0, 3)), Said((2, 9)), Said(opened=6)], TEXT, 0, ended=False) == ([], 0)
    assert settle([Said((0, 2)), Said((2, 9)), Said(opened=6)], TEXT, 0, ended=False) == ([(0, 2, 0)], 2)
    assert settle([Said((2, 9)), Said(opened=9)], TEXT, 0, ended=False) == ([(2, 9, 0)], 9)


def test_what_looked_open_inside_a_certain_finding_is_not() -> None:
    """The search of that finder goes on behind it."""
    assert settle([Pattern("<[^>]*>|>x+y")], "a<b>xx", 0, ended=False) == ([(1, 4, 0)], 6)
    assert settle([Pattern("ab+a?|b+c")], "abb", 0, ended=False) == ([], 0)


def test_what_is_settled_does_not_end_within_a_match_that_was_refused() -> None:
    """From there on, the rest of the match could pass for one."""
    refusing = Pattern(r"\d+", check=lambda text: len(text) < 3)
    other = Pattern(r"34x")
    text = "a1234"
    assert settle([refusing, other], f"{text} ", 0, ended=False) == ([], 6)
    assert settle([refusing, Pattern("34 x")], f"{text} ", 0, ended=False) == ([], 1)


@pytest.mark.parametrize("count", [20_000])
def test_many_findings_that_overlap_each_other_are_sorted_out(count: int) -> None:
    """Comparing each with each would take minutes."""
    finders = [Said(*((4 * i, 4 * i + 3) for i in range(count))), Said(*((4 * i + 2, 4 * i + 5) for i in range(count)))]
    findings, _ = settle(finders, "." * (4 * count + 5), 0, ended=True)
    assert len(findings) == count
