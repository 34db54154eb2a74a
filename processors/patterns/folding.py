"""The text as a detector should read it too: evasions undone, and the way back to the text as it was written."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from processors.patterns.pattern import Span

if TYPE_CHECKING:
    from processors.patterns.settle import Finder

#: Characters without a width or a meaning of their own, which hide a word from a pattern and not from a reader: beside
#: these, Unicode's format characters and variation selectors.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\uffa0")
_VARIATION_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
#: Letters of other scripts that look like a Latin one, the common ones of Unicode's list of confusables.
_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһΑΒΕΖΗΙΚΜΝΟΡΤΥΧονραıɑɡոօս\u2010\u2012\u2013\u2014\u2015\u2212",
    "ABESIJKMHOPCTYXaesijopcyxdqwhABEZHIKMNOPTYXovpaiagnou------",
)


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` as a detector reads it; its character number i stands at code point `places[i]` of the original.

    `places` has one entry more than `text`: where the text ends. None means that nothing was changed.
    """

    text: str
    places: list[int] | None = None

    def back(self, place: int) -> int:
        """Return the original's code point where character number `place` of the folded text begins."""
        return place if self.places is None else self.places[place]

    def back_end(self, end: int) -> int:
        """Return the original's code point behind character number `end` - 1 of the folded text."""
        return end if self.places is None else self.places[end - 1] + 1

    def forth(self, place: int) -> int:
        """Return the first character of the folded text that stands at code point `place` of the original or later."""
        return place if self.places is None else bisect_left(self.places, place, hi=len(self.text))


def fold(text: str) -> Folded:
    """Return `text` with compatibility forms, look-alikes, combining marks and invisible characters undone."""
    if text.isascii():
        return Folded(text)
    read = [char if char < "\x80" else _read(char) for char in text]
    folded = "".join(read)
    if folded == text:
        return Folded(text)
    places = [place for place, chars in enumerate(read) for _ in chars]
    places.append(len(text))
    return Folded(folded, places)


def folds_to_itself(text: str) -> bool:
    """Return whether there is but one way to read `text`, wherever it stands: folds change no character of it."""
    return text.isascii() or fold(text).places is None


def context(text: str, end: int, count: int) -> str:
    """Return what stands before code point `end` of `text`, shortened as far as no detector can tell.

    A detector looks back at most `count` characters, whether it reads the text as it is or through its folds: with the
    last `count` characters come as many of those before them as it takes to read `count` of them.
    """
    near = text[max(end - count, 0) : end]
    if near.isascii():
        return near
    found: list[str] = []
    place, missing = end - len(near), count - sum(1 for char in near if _read(char))
    while place > 0 and len(found) < missing:
        place -= 1
        if _read(text[place]):
            found.append(text[place])
    return "".join(reversed(found)) + near


class Unmasked:
    """A finder that reads one text through its folds: takes and gives places of the original."""

    def __init__(self, finder: Finder, view: Folded) -> None:
        self._finder = finder
        self._view = view

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the view is of it
        """Yield what is found in the folded text, widened to whole characters of the original."""
        view = self._view
        found = self._finder.spans(view.text, view.forth(start), ended=ended)
        while (span := next(found, None)) is not None:
            begin, end = view.back(span.start), view.back_end(span.end)
            yield Span(begin, end, span.holds)
            if view.back(span.end) < end:
                # What follows is of the same character of the original, which is taken.
                found = self._finder.spans(view.text, view.forth(end), ended=ended)

    def open_from(self, text: str, start: int = 0) -> int:  # noqa: ARG002 - as above
        """Return where what is open in the folded text begins."""
        return self._view.back(self._finder.open_from(self._view.text, self._view.forth(start)))


@lru_cache(maxsize=8192)
def _read(char: str) -> str:
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    plain = unicodedata.normalize("NFKD", char)
    return "".join(one for one in plain if not _unseen(one)).translate(_LOOKALIKES)


def _unseen(char: str) -> bool:
    """Return whether `char` has no look of its own: a mark on another character, or nothing at all."""
    return (
        char in _INVISIBLE
        or unicodedata.combining(char) != 0
        or unicodedata.category(char) in ("Cf", "Me")
        or any(ord(char) in selectors for selectors in _VARIATION_SELECTORS)
    )
