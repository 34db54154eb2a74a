"""Texts that a pattern matches, made from its tree by chance: shortest ones, and some that go on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import lru_cache

from processors.patterns.tree import Char, Choice, Node, Repeat, Sequence

_MOST_MORE = 6
#: Characters to choose from, the usual ones first, and some of other scripts.
_CHARS = "".join(
    map(chr, (*range(0x20, 0x7F), 0x0A, 0x09, *range(0xC0, 0x180), *range(0x400, 0x460), *range(0x4E00, 0x4E40)))
)


def example(node: Node, rng: random.Random) -> str:
    """Return a text that `node` matches, as far as its characters are common ones; what must stand beside it is not."""
    return "".join(_chars(node, rng))


def _chars(node: Node, rng: random.Random) -> Iterator[str]:
    match node:
        case Char(_, python, literal):
            members = literal or _members(python)
            if members:
                yield rng.choice(members)
        case Sequence(parts):
            for part in parts:
                yield from _chars(part, rng)
        case Choice(options):
            yield from _chars(rng.choice(options), rng)
        case Repeat(part, least, most, _):
            more = rng.choice((0, 1, rng.randint(0, _MOST_MORE)))
            for _ in range(least + more if most is None else min(least + more, most)):
                yield from _chars(part, rng)


@lru_cache(maxsize=256)
def _members(python: str) -> str:
    """Return the common characters of a class."""
    found = re.findall(python, _CHARS)
    ascii_ones = [char for char in found if char.isascii()]
    return "".join(ascii_ones or found)
