"""Making an example shorter for as long as it still shows what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from processors.checker.findings import Example
from processors.checker.texts import Text

#: Tells whether something is wrong when `head` comes first and `whole` is all that comes.
Breaks: TypeAlias = Callable[[str, str], bool]

#: Longer wholes than this are reported as they are.
_UP_TO = 1_000
#: At most so many characters of an example are looked at pair by pair.
_PAIRS_UP_TO = 200


def shorten(text: Text, pair: tuple[int, int], breaks: Breaks) -> Example:
    """Return the shortest split there is in `pair`, the lengths of a head and a whole of `text` that break."""
    head, whole = pair
    if whole > _UP_TO:
        return Example(text, 0, head, whole)
    for start in range(whole, -1, -1):
        found = next((h for h in range(start, whole + 1) if breaks(text.text[start:h], text.text[start:whole])), None)
        if found is not None:
            head, whole = _sooner(text.text, start, (found, whole), breaks)
            return Example(text, start, head, whole)
    return Example(text, 0, head, whole)


def _sooner(text: str, start: int, pair: tuple[int, int], breaks: Breaks) -> tuple[int, int]:
    """Return the shortest split from `start` on."""
    head, whole = pair
    if whole - start > _PAIRS_UP_TO:
        return pair
    for end in range(start, whole):
        for place in range(start, end + 1):
            if breaks(text[start:place], text[start:end]):
                return place, end
    return head, whole


def shortest(examples: Iterable[Example]) -> Example | None:
    """Return the one with the shortest whole, then the shortest head, then the first."""
    return min(examples, key=lambda one: (one.end - one.start, one.split - one.start), default=None)
