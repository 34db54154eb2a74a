"""The text as a detector should read it: evasions undone, and the way back to the text as it was written."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

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
        if self.places is None:
            return place
        return next((index for index, at in enumerate(self.places) if at >= place), len(self.text))


def fold(text: str) -> Folded:
    """Return `text` with compatibility forms, look-alikes, combining marks and invisible characters undone."""
    if text.isascii():
        return Folded(text)
    folded: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        read = char if char < "\x80" else _read(char)
        folded.append(read)
        places += [place] * len(read)
    places.append(len(text))
    return Folded("".join(folded), places)


def last_read(text: str, end: int, count: int) -> str:
    """Return the last `count` characters of `text` before code point `end`, without those that a detector does not read."""
    found: list[str] = []
    while end > 0 and len(found) < count:
        end -= 1
        if _read(text[end]):
            found.append(text[end])
    return "".join(reversed(found))


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
