"""Texts that a pattern may match, made from its parse tree; and whether it has a longest match."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from re import _constants as op  # type: ignore[attr-defined] # the parser's names for its nodes have no public home
from re import _parser as parser  # type: ignore[attr-defined] # nor has the parser
from typing import Any

_LONGEST = 160
_MOST_BRANCHES = 8
_LETTERS = "a1x bA.@-_ \n"
#: Longer than any match that can be meant: the parser's figure for "without end" differs between versions of Python.
_ENDLESS = 1 << 30
_CATEGORIES = {
    op.CATEGORY_DIGIT: "1",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_WORD: ".",
}


def samples(pattern: str, flags: int) -> list[str]:
    """Return a few short texts that look like matches of `pattern`: the shortest, longer ones, one for each branch."""
    tree = _tree(pattern, flags)
    if tree is None:
        return []
    made = dict.fromkeys(
        _text(tree, _Choice(branch=branch, more=more)) for branch in range(_branches(tree)) for more in (0, 1, 5, 24)
    )
    return [text for text in made if 0 < len(text) <= _LONGEST]


def is_endless(pattern: str, flags: int) -> bool:
    """Return whether there is no longest match of `pattern`."""
    tree = _tree(pattern, flags)
    return tree is not None and int(tree.getwidth()[1]) >= _ENDLESS


def texts_around(found: Iterable[str]) -> Iterator[str]:
    """Yield texts in which a chain may meet what it looks for: alone, among words, twice."""
    for one in found:
        yield f"See {one} there."
        yield f"{one}{one} {one}\n"


def texts_between(found: Sequence[Sequence[str]], most: int, seed: int) -> list[str]:
    """Return at most `most` texts in which one member of a chain may make what the next one looks for.

    `found` has for each member what it looks for and what it writes. In each of them what a member may write is replaced
    by what it may write it for, and at some place something of another member's is put in.
    """
    every = list(dict.fromkeys(one for member in found for one in member))
    written = dict.fromkeys(
        whole.replace(part, other)
        for whole in every
        for part in every
        if part != whole and part in whole
        for other in every
        if other not in (part, whole)
    )
    put_in = dict.fromkeys(
        one[:place] + other + rest
        for number, member in enumerate(found)
        for one in member
        for others in (*found[:number], *found[number + 1 :])
        for other in others
        for place in range(1, len(one))
        for rest in ("", one[place:])
    )
    rng = random.Random(seed)  # noqa: S311 - the same each time
    chosen: list[str] = []
    for texts in (written, put_in):
        short = [text for text in texts if len(text) <= _LONGEST // 2]
        chosen += short if len(short) <= most // 2 else rng.sample(short, most // 2)
    return chosen


@dataclass(slots=True)
class _Choice:
    """Which of the texts is made: the branch taken, and how often repeats go beyond their least."""

    branch: int
    more: int


def _tree(pattern: str, flags: int) -> Any | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return parser.parse(pattern, flags)
        except (re.error, ValueError, OverflowError, RecursionError):
            return None


def _branches(items: Any) -> int:
    """Return how many texts are needed for each branch of the tree to be in one."""
    most = 1
    for kind, value in items:
        if kind is op.BRANCH:
            most = max(most, len(value[1]), *(_branches(option) for option in value[1]))
        elif kind is op.SUBPATTERN:
            most = max(most, _branches(value[-1]))
        elif kind in _REPEATS:
            most = max(most, _branches(value[2]))
    return min(most, _MOST_BRANCHES)


_REPEATS = tuple(getattr(op, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(op, name))


def _text(items: Any, choice: _Choice) -> str:
    out = ""
    for kind, value in items:
        if len(out) > _LONGEST:
            break
        if kind is op.LITERAL:
            out += chr(value)
        elif kind is op.NOT_LITERAL:
            out += next(char for char in _LETTERS if ord(char) != value)
        elif kind is op.ANY:
            out += "a"
        elif kind is op.IN:
            out += _one_of(value)
        elif kind is op.BRANCH:
            out += _text(value[1][choice.branch % len(value[1])], choice)
        elif kind is op.SUBPATTERN:
            out += _text(value[-1], choice)
        elif kind in _REPEATS:
            least, most, inner = value
            times = min(int(least) + choice.more, int(most)) if choice.more or least else 0
            out += (_text(inner, choice) * min(times, _LONGEST))[: _LONGEST + 1]
        elif kind is getattr(op, "ATOMIC_GROUP", None):
            out += _text(value, choice)
    return out


def _one_of(members: Any) -> str:
    """Return a character of a class."""
    if members[0][0] is op.NEGATE:
        return next((char for char in _LETTERS if not any(_fits(char, member) for member in members[1:])), "\u00e9")
    kind, value = members[0]
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.RANGE:
        return chr(value[0])
    return _CATEGORIES.get(value, "a")


def _fits(char: str, member: tuple[Any, Any]) -> bool:
    kind, value = member
    if kind is op.LITERAL:
        return bool(ord(char) == value)
    if kind is op.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    fits = {
        op.CATEGORY_DIGIT: char.isdigit(),
        op.CATEGORY_NOT_DIGIT: not char.isdigit(),
        op.CATEGORY_SPACE: char.isspace(),
        op.CATEGORY_NOT_SPACE: not char.isspace(),
        op.CATEGORY_WORD: char.isalnum() or char == "_",
        op.CATEGORY_NOT_WORD: not (char.isalnum() or char == "_"),
    }
    return fits.get(value, False)
