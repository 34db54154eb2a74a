"""Which findings of several finders hold, and up to where a growing text is settled.

Findings overlap: of those that do, the longest holds, then the one whose finder was declared first, then the leftmost. What
could still become part of a finding is not settled, and neither is a finding that such text could overlap: a longer one
may yet take its place. Nor does what is settled end within a match that was refused: looked at again from there, the rest
of it might be taken for another.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from processors.patterns.pattern import Span


class Finder(Protocol):
    """Finds things in a text (`processors.patterns.Pattern` is one).

    It may have an attribute `watched`, a parsed pattern: then nothing is found, and nothing is open, unless that matches
    from the same place or further left, or is as open. Text for which it is neither is read at less cost.
    """

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Yield what is found at `start` or later, from left to right, none over another.

        What stands before `start` counts as a neighbour only. `ended` says that nothing follows `text`; unless it does,
        what begins at `open_from` or later is not the last word.
        """

    def open_from(self, text: str, start: int = 0) -> int:
        """Return the first place at `start` or later from which the rest of `text` could grow into a finding."""


class Finding(NamedTuple):
    """What finder number `finder` found in code points [`start`, `end`)."""

    start: int
    end: int
    finder: int


class Settlement(NamedTuple):
    """`findings` that hold, from left to right, in a text that is settled up to code point `end`."""

    findings: list[Finding]
    end: int


def settle(finders: Sequence[Finder], text: str, start: int, *, ended: bool) -> Settlement:
    """Return what holds in `text` from `start` on, where the text before `start` was settled earlier."""
    found: list[Finding] = []
    matched: list[Span] = []
    end = len(text)
    for number, finder in enumerate(finders):
        spans, opened = _read(finder, text, start, ended=ended)
        matched += spans
        found += (Finding(span.start, span.end, number) for span in spans if span.holds)
        end = min(end, opened)
    if not ended:
        end = _before_overlaps(matched, end)
    return Settlement(_longest(one for one in found if one.end <= end), end)


def _read(finder: Finder, text: str, start: int, *, ended: bool) -> tuple[list[Span], int]:
    """Return one finder's certain spans, and where the text becomes open for it."""
    if ended:
        return list(finder.spans(text, start, ended=True)), len(text)
    certain: list[Span] = []
    opened = finder.open_from(text, start)
    for span in finder.spans(text, start, ended=False):
        if span.start >= opened:
            break
        certain.append(span)
        if span.end > opened:
            # What had looked open lies within a finding that is certain: the search goes on behind it.
            opened = finder.open_from(text, span.end)
    if certain:
        # Behind the last of them, and not behind what a search that went another way would have found.
        opened = finder.open_from(text, certain[-1].end)
    return certain, opened


def _before_overlaps(matched: Sequence[Span], end: int) -> int:
    """Move `end` back before every match that reaches beyond it, and before those that overlap such a one."""
    for one in sorted(matched, key=lambda one: one.end, reverse=True):
        if one.end <= end:
            break
        end = min(end, one.start)
    return end


def _longest(found: Iterable[Finding]) -> list[Finding]:
    """Return the findings that hold among some that overlap, from left to right."""
    kept: list[Finding] = []
    for one in sorted(found, key=lambda one: (one.start - one.end, one.finder, one.start)):
        following = bisect_left(kept, one)
        before = kept[following - 1].end if following else 0
        after = kept[following].start if following < len(kept) else one.end
        if before <= one.start and one.end <= after:
            insort(kept, one)
    return kept
