"""Sets of characters, worked out by asking Python about every character there is: for what RE2 has no spelling of.

Each set takes some hundredths of a second, so it is done only where a class cannot be translated by its name.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

_SURROGATES = range(0xD800, 0xE000)
_PAST_LAST = 0x110000


@lru_cache(maxsize=512)
def spell_set(*conditions: str) -> str | None:
    """Return, as a class for RE2, the characters of which all `conditions` hold; None if there is none.

    The conditions are Python's: look-aheads, and at the end one that takes the character in.
    """
    everything = _everything()
    found = (match.span() for match in re.finditer(f"(?:{''.join(conditions)})+", everything))
    spelt = "".join(f"{_code(everything[start])}-{_code(everything[end - 1])}" for start, end in found)
    return f"[{spelt}]" if spelt else None


def _code(char: str) -> str:
    return f"\\x{{{ord(char):x}}}"


@cache
def _everything() -> str:
    """Return all characters in order; surrogates are none."""
    return "".join(map(chr, (*range(_SURROGATES.start), *range(_SURROGATES.stop, _PAST_LAST))))
