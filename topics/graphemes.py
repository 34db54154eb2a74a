"""Where a text may be cut so that no reader sees half a character.

A subset of the boundary rules of Unicode Standard Annex #29, on the safe side: a place this module calls a boundary may
still turn out to lie inside a cluster by a combining mark or a Hangul letter that arrives later, which then simply
follows.
"""

from __future__ import annotations

import unicodedata

_ZWJ = "\u200d"
_EXTENDERS = frozenset({"Mn", "Me", "Mc"})
_REGIONAL_INDICATORS = ("\U0001f1e6", "\U0001f1ff")
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
_TAGS = ("\U000e0020", "\U000e007f")
_HANGUL_LEADING = ("\u1100", "\u115f")
_HANGUL_VOWEL = ("\u1160", "\u11a7")
_HANGUL_TRAILING = ("\u11a8", "\u11ff")
_HANGUL_SYLLABLES = ("\uac00", "\ud7a3")
#: Every so many syllables comes one that ends in its vowel, so that a trailing consonant may still join it.
_HANGUL_CYCLE = 28
#: Extenders that are not marks by category: the zero-width non-joiner, and the halfwidth voicing marks of katakana.
_OTHER_EXTENDERS = frozenset("\u200c\uff9e\uff9f")
_LAST_SIMPLE = "\u02ff"
#: The longest cluster that is kept together, in code points. Even, so that a longer run of flags is cut between two.
MAX_CLUSTER = 64


def safe_length(text: str, length: int, *, ended: bool = False) -> int:
    """Return the greatest cut at or before code point `length` of `text` that is not inside a grapheme cluster.

    `ended` says that nothing follows `text`, so that its end is a boundary whatever it ends in. A cluster of more than
    `MAX_CLUSTER` code points is cut all the same: it is no character that anybody reads, and would hold text for ever.
    """
    end = min(length, len(text))
    if end == len(text) and end and "\r" != text[-1] <= _LAST_SIMPLE:
        return end
    for cut in range(end, max(end - MAX_CLUSTER, 0), -1):
        if _is_boundary(text, cut, ended=ended):
            return cut
    return end if end > MAX_CLUSTER else 0


def _is_boundary(text: str, cut: int, *, ended: bool) -> bool:
    before = text[cut - 1]
    if cut == len(text):
        if ended:
            return True
        return before not in ("\r", _ZWJ) and not _splits_flag(text, cut)
    after = text[cut]
    if before == "\r":
        return after != "\n"
    if after <= _LAST_SIMPLE and before <= _LAST_SIMPLE:
        return True
    return not (before == _ZWJ or _extends(after) or _splits_flag(text, cut) or _joins_hangul(before, after))


def _extends(char: str) -> bool:
    return (
        char == _ZWJ
        or unicodedata.category(char) in _EXTENDERS
        or char in _OTHER_EXTENDERS
        or _within(char, _SKIN_TONES)
        or _within(char, _TAGS)
    )


def _splits_flag(text: str, cut: int) -> bool:
    """Two regional indicators make a flag: a cut after an odd number of them waits for the other half."""
    start, first = cut, max(cut - MAX_CLUSTER, 0)
    while start > first and _within(text[start - 1], _REGIONAL_INDICATORS):
        start -= 1
    odd = (cut - start) % 2 == 1
    return odd and (cut == len(text) or _within(text[cut], _REGIONAL_INDICATORS))


def _joins_hangul(before: str, after: str) -> bool:
    if _within(before, _HANGUL_LEADING):
        return any(_within(after, span) for span in (_HANGUL_LEADING, _HANGUL_VOWEL, _HANGUL_SYLLABLES))
    if _within(before, _HANGUL_VOWEL) or _is_open_syllable(before):
        return _within(after, _HANGUL_VOWEL) or _within(after, _HANGUL_TRAILING)
    closed = _within(before, _HANGUL_TRAILING) or _within(before, _HANGUL_SYLLABLES)
    return closed and _within(after, _HANGUL_TRAILING)


def _is_open_syllable(char: str) -> bool:
    return _within(char, _HANGUL_SYLLABLES) and (ord(char) - ord(_HANGUL_SYLLABLES[0])) % _HANGUL_CYCLE == 0


def _within(char: str, span: tuple[str, str]) -> bool:
    return span[0] <= char <= span[1]
