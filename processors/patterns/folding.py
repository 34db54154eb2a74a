"""The text as a detector should read it: evasions undone, and the way back to the text as it was written."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

#: Characters without a width or a meaning of their own, which hide a word from a pattern and not from a reader.
_INVISIBLE = frozenset(
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
)
#: Letters of other scripts that look like a Latin one, the common ones of Unicode's list of confusables.
_LOOKALIKES = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухԁԛԝһΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ",
    "ABESIJKMHOPCTYXaesijopcyxdqwhABEZHIKMNOPTYXovp",
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


def _read(char: str) -> str:
    if char in _INVISIBLE:
        return ""
    if unicodedata.combining(char):
        return ""
    plain = unicodedata.normalize("NFKD", char)
    return "".join(one for one in plain if not unicodedata.combining(one)).translate(_LOOKALIKES)
