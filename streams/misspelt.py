"""What somebody may have meant who named a setting that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the end of a complaint about `name`: which of the `known` ones it is like, or where these are listed.

    That names begin with `prefix` makes none of them nearer, so it is left out of the comparison.
    """
    short = {one.removeprefix(prefix): one for one in known}
    if near := difflib.get_close_matches(name.removeprefix(prefix), list(short), n=1):
        return f", did you mean {short[near[0]]}?"
    return ": take it away, then `turngate settings` lists those there are"
