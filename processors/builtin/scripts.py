"""Which letters set spaces between words, and which do not: ranges for the inside of a pattern's class, beyond ASCII."""

from __future__ import annotations

import re

SPACED = "À-ÖØ-öø-ʯͰ-ͷΆΈ-ҁҊ-Ֆՠ-ֈא-תؠ-يٮ-ۓࠀ-ࢾऀ-ॣ०-෕Ⴀ-ჿሀ-ፚᎠ-ᏽᐁ-ᙬᠠ-ᢪḀ-ỿἀ-ῼⲀ-ⳤⴰ-ⵧ"
#: Korean among them: it sets spaces, but not before its endings. Folding takes its syllables apart.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u0f40-\u0fbc\u1000-\u104f\u1100-\u11ff\u1780-\u17d3"
    "ぁ-ゖァ-ヺー㐀-鿿가-힣\U00020000-\U0003ffff"
)
#: What belongs to the letter before it, in scripts without spaces: no word ends in front of it.
TRAILING = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1160-\u11ff\u17b6-\u17d3"

_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(char: str) -> bool:
    """Return whether `char` is a letter of a script that sets no spaces between words."""
    return _UNSPACED.match(char) is not None
