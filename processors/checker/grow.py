"""Making an example worse: pieces of its text are repeated for as long as more would have to be held back.

A corpus has short matches; what a pattern can reach shows when they grow. What grows with the text beyond any sensible
window has no bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from processors.checker.texts import Repeat, Text

#: A window that no operator would declare: what needs as much is taken to need ever more.
UNBOUNDED = 2_048

_SIZES = (1, 2, 3)
_TIMES = (1, 4, 16, 64, 256, 1_024, 4_096)
#: How far before the split pieces are repeated, in code points.
_REACH = 64
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Case:
    """A split of a text, the lengths of its head and its whole, and how much has to be held back for it."""

    text: Text
    head: int
    whole: int
    need: int


#: How much has to be held back for a head and a whole.
MeasureNeed: TypeAlias = Callable[[str, str], int]


def grow(case: Case, measure: MeasureNeed, until: int = UNBOUNDED) -> Case:
    """Return the worst case found by repeating pieces of this one, or the smallest there is that needs `until`."""
    for _ in range(_SWEEPS):
        before = case.need
        for size in _SIZES:
            case = _sweep(case, size, measure, until)
            if case.need > before:
                break
        if case.need == before or case.need >= until:
            break
    return case


def _sweep(case: Case, size: int, measure: MeasureNeed, until: int) -> Case:
    place = case.head - size
    last = max(0, case.head - _REACH)
    while place >= last and case.need < until:
        better = _stretch(case, place, size, measure, until)
        if better is None:
            place -= 1
        else:
            case = better
    return case


def _stretch(case: Case, place: int, size: int, measure: MeasureNeed, until: int) -> Case | None:
    def repeated(times: int) -> Case:
        longer = case.text.with_more(Repeat(place, size, times))
        head, whole = case.head + size * times, case.whole + size * times
        return Case(longer, head, whole, measure(longer.text[:head], longer.text[:whole]))

    better: Case | None = None
    last = 0
    for times in _TIMES:
        tried = repeated(times)
        if tried.need <= (better or case).need:
            break
        better = tried
        if better.need >= until:
            return _fewest(repeated, last, times, until) if until < UNBOUNDED else better
        last = times
    return better


def _fewest(repeated: Callable[[int], Case], few: int, many: int, until: int) -> Case:
    """Return the case with the fewest repeats that needs `until`: `few` are too few, `many` are enough."""
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if repeated(middle).need >= until else (middle, many)
    return repeated(many)
