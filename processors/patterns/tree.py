r"""A regular expression as a tree of the few things that regular languages need, and as RE2 spells them.

Python's parser reads the pattern, so that everybody writes the syntax they know; the tree keeps what can be matched in
linear time and refuses the rest by name. Classes are spelt out for RE2 with Python's meaning: `\w`, `\d` and `\s` take
in the letters, digits and spaces of all scripts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from re import _constants as op  # type: ignore[attr-defined] # the parser's names for its nodes have no public home
from re import _parser as parser  # type: ignore[attr-defined] # nor has the parser
from typing import Any, TypeAlias

from processors.patterns.classes import spell_set
from processors.patterns.errors import PatternError

WORD = r"\pL\p{N}_"
SPACE = r"\s\x0b\x1c-\x1f\x{85}\pZ"
DIGIT = r"\p{Nd}"
PYTHON_WORD = r"\w"
PYTHON_ASCII_WORD = "[0-9A-Za-z_]"


@dataclass(frozen=True, slots=True)
class Char:
    """One character out of a class, as RE2 and as Python spell the class; `literal` if there is but one, in any case."""

    spelling: str
    python: str
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other; no part at all is the empty text."""

    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several, the first that fits."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `least` to `most` times (None: without bound), as often as possible unless it is `lazy`."""

    part: Node
    least: int
    most: int | None
    lazy: bool = False


Node: TypeAlias = Char | Sequence | Choice | Repeat
EMPTY = Sequence()


@dataclass(frozen=True, slots=True)
class Edge:
    """What must stand beside a match, if anything does.

    `condition` is a look-ahead of Python's that the neighbour fits, `spelling` the class of such for RE2; `boundary` a
    class of word characters where there must be a word boundary. `alone` asks for no neighbour at all, which with
    `last_newline` may be a newline and then none.
    """

    condition: str | None = None
    spelling: str | None = None
    boundary: str | None = None
    alone: bool = False
    last_newline: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A pattern: its `body`, and what must stand `before` and `after` a match of it."""

    body: Node
    before: tuple[Edge, ...]
    after: tuple[Edge, ...]


def parse(pattern: str, flags: int = 0) -> Parsed:
    """Return the tree of `pattern`, written as for `re` with these `flags`.

    Raises:
        PatternError: it is no pattern, or has what cannot be matched in linear time.
    """
    try:
        tree = parser.parse(pattern, flags)
    except re.error as exc:
        raise PatternError(f"no regular expression: {exc.msg}") from None
    flags = tree.state.flags
    items = list(tree)
    before: list[Edge] = []
    after: list[Edge] = []
    while items and (edge := _edge(items[0], flags, behind=True)) is not None:
        before.append(edge)
        items.pop(0)
    while items and (edge := _edge(items[-1], flags, behind=False)) is not None:
        after.append(edge)
        items.pop()
    body = _sequence(items, flags)
    return Parsed(body, tuple(before), tuple(after))


def spell(node: Node) -> str:
    """Return `node` as RE2 spells it."""
    match node:
        case Char(spelling):
            return spelling
        case Sequence(parts):
            return "".join(_grouped(part) if isinstance(part, Choice) else spell(part) for part in parts)
        case Choice(options):
            return "|".join(spell(option) for option in options)
        case Repeat(part, least, most, lazy):
            return f"{_grouped(part)}{_count(least, most)}{'?' if lazy else ''}"


def nullable(node: Node) -> bool:
    """Return whether `node` matches the empty text."""
    match node:
        case Char():
            return False
        case Sequence(parts):
            return all(nullable(part) for part in parts)
        case Choice(options):
            return any(nullable(option) for option in options)
        case Repeat(part, least, _, _):
            return least == 0 or nullable(part)


def is_lazy(node: Node) -> bool:
    """Return whether some repeat in `node` stops as soon as it can."""
    match node:
        case Char():
            return False
        case Sequence(parts):
            return any(is_lazy(part) for part in parts)
        case Choice(options):
            return any(is_lazy(option) for option in options)
        case Repeat(part, least, most, lazy):
            return (lazy and least != most) or is_lazy(part)


def _grouped(node: Node) -> str:
    return spell(node) if isinstance(node, Char) else f"(?:{spell(node)})"


def _count(least: int, most: int | None) -> str:
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    if (least, most) == (0, 1):
        return "?"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _sequence(items: Any, flags: int) -> Node:
    parts = tuple(_node(item, flags) for item in items)
    return parts[0] if len(parts) == 1 else Sequence(parts)


def _node(item: tuple[Any, Any], flags: int) -> Node:
    kind, value = item
    if kind in _CLASSES:
        return _char(item, flags)
    if kind is op.BRANCH:
        return Choice(tuple(_sequence(option, flags) for option in value[1]))
    if kind is op.SUBPATTERN:
        _, added, removed, inner = value
        return _sequence(inner, (flags | added) & ~removed)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        least, most, inner = value
        bound = None if most is op.MAXREPEAT else int(most)
        return Repeat(_sequence(inner, flags), int(least), bound, lazy=kind is op.MIN_REPEAT)
    raise PatternError(
        f"{_NAMES.get(kind, str(kind).lower())} cannot be matched in linear time: write the pattern without it"
    )


_NAMES = {
    op.GROUPREF: "a back-reference",
    op.GROUPREF_EXISTS: "a conditional",
    op.ASSERT: "a look-around that is not one class at the pattern's edge",
    op.ASSERT_NOT: "a look-around that is not one class at the pattern's edge",
    op.AT: "an anchor inside the pattern",
    op.ATOMIC_GROUP: "an atomic group",
    op.POSSESSIVE_REPEAT: "a possessive repeat",
}


def _edge(item: tuple[Any, Any], flags: int, *, behind: bool) -> Edge | None:
    """Return what `item` asks of the character beside the match, or None if it is part of the match."""
    kind, value = item
    if kind is op.AT:
        return _anchor(value, flags, behind=behind)
    if kind not in (op.ASSERT, op.ASSERT_NOT) or (value[0] < 0) != behind:
        return None
    inner = list(value[1])
    if len(inner) != 1 or inner[0][0] not in _CLASSES:
        return None
    if kind is op.ASSERT:
        raise PatternError("a positive look-around cannot be told from the end of the text: use a negative one")
    char = _char(inner[0], flags)
    return Edge(f"(?!{char.python})", _complement(inner[0], flags))


def _anchor(value: Any, flags: int, *, behind: bool) -> Edge | None:
    if value is op.AT_BOUNDARY:
        return Edge(boundary=PYTHON_ASCII_WORD if flags & re.ASCII else PYTHON_WORD)
    if value not in ((op.AT_BEGINNING, op.AT_BEGINNING_STRING) if behind else (op.AT_END, op.AT_END_STRING)):
        return None
    if flags & re.MULTILINE and value in (op.AT_BEGINNING, op.AT_END):
        return Edge(r"(?=\n)", r"\n")
    return Edge(alone=True, last_newline=value is op.AT_END)


#: The parser's nodes that stand for one character.
_CLASSES = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)


def _char(item: tuple[Any, Any], flags: int) -> Char:
    kind, value = item
    python = _python_class(item, flags)
    if kind is op.ANY:
        return Char(r"(?s:.)" if flags & re.DOTALL else r"[^\n]", python)
    members = value if kind is op.IN else [item]
    spelling = _class(members, flags) or _asked(python)
    return Char(spelling, python, chr(value) if kind is op.LITERAL else None)


def _complement(item: tuple[Any, Any], flags: int) -> str | None:
    """Return, for RE2, the class of all characters but those of `item`, if it can be spelt by names."""
    kind, value = item
    if kind is op.IN and value[0][0] is not op.NEGATE:
        return _class([(op.NEGATE, None), *value], flags)
    return _class([(op.NOT_LITERAL, value)], flags) if kind is op.LITERAL else None


def _class(members: Any, flags: int) -> str | None:
    """Return a class for RE2 if it can be spelt by names.

    RE2 has none for what is no letter, no space and the like, nor for ASCII letters in any case; and named classes in any
    case take in marks there that are no letters.
    """
    (kind, value), *others = members
    if kind is op.CATEGORY and value in _OPPOSITES and not others:
        members = [(op.NEGATE, None), (op.CATEGORY, _OPPOSITES[value])]
    if kind is op.NOT_LITERAL:
        members = [(op.NEGATE, None), (op.LITERAL, value)]
    negated = members[0][0] is op.NEGATE
    positive = members[1:] if negated else members
    spelt = [_member(member, flags) for member in positive]
    if None in spelt:
        return None
    named = [member for member in positive if member[0] is op.CATEGORY]
    if flags & re.IGNORECASE and len(named) < len(positive):
        if flags & re.ASCII or named:
            return None
        if re.match(_python_class((op.IN, positive), flags), "i"):
            spelt.append(_ALL_IS)
    if len(spelt) == 1 and positive[0][0] is op.LITERAL and not negated:
        return _cased(f"{spelt[0]}", flags)
    spelling = f"[{'^' if negated else ''}{''.join(one or '' for one in spelt)}]"
    return spelling if len(named) == len(positive) else _cased(spelling, flags)


#: In any case, Python takes these for the same letter: i with and without a dot, small and capital.
_ALL_IS = r"iI\x{130}\x{131}"


def _asked(python: str) -> str:
    spelling = spell_set(python)
    if spelling is None:
        raise PatternError("a class in the pattern has no character in it: write what it should take in")
    return spelling


def _member(member: tuple[Any, Any], flags: int) -> str | None:
    kind, value = member
    if kind is op.LITERAL:
        return _quote(value)
    if kind is op.RANGE:
        return f"{_quote(value[0])}-{_quote(value[1])}"
    names = _ASCII_CATEGORIES if flags & re.ASCII else _CATEGORIES
    return names.get(value)


_CATEGORIES = {op.CATEGORY_DIGIT: DIGIT, op.CATEGORY_SPACE: SPACE, op.CATEGORY_WORD: WORD}
_ASCII_CATEGORIES = {op.CATEGORY_DIGIT: r"\d", op.CATEGORY_SPACE: r"\s\x0b", op.CATEGORY_WORD: r"\w"}
_OPPOSITES = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}


def _python_class(item: tuple[Any, Any], flags: int) -> str:
    """Return a class as Python spells it, with the flags that hold there."""
    kind, value = item
    if kind is op.ANY:
        return r"(?s:.)" if flags & re.DOTALL else r"[^\n]"
    members = [item] if kind in (op.LITERAL, op.NOT_LITERAL) else value
    spelt = "^" if kind is op.NOT_LITERAL else ""
    for sub, of in members:
        if sub is op.NEGATE:
            spelt += "^"
        elif sub in (op.LITERAL, op.NOT_LITERAL):
            spelt += re.escape(chr(of))
        elif sub is op.RANGE:
            spelt += f"{re.escape(chr(of[0]))}-{re.escape(chr(of[1]))}"
        else:
            spelt += (_PYTHON_ASCII_CATEGORIES if flags & re.ASCII else _PYTHON_CATEGORIES)[of]
    if not flags & re.IGNORECASE:
        return f"[{spelt}]"
    return f"(?{'a' if flags & re.ASCII else ''}i:[{spelt}])"


_PYTHON_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}
#: In full: where ASCII holds for a part of a pattern only, Python searches for the part as if it did not.
_PYTHON_ASCII_CATEGORIES = {
    op.CATEGORY_DIGIT: "0-9",
    op.CATEGORY_NOT_DIGIT: "\\x00-/:-\U0010ffff",
    op.CATEGORY_SPACE: r"\t-\r ",
    op.CATEGORY_NOT_SPACE: "\\x00-\\x08\\x0e-\\x1f!-\U0010ffff",
    op.CATEGORY_WORD: "0-9A-Z_a-z",
    op.CATEGORY_NOT_WORD: "\\x00-/:-@\\[-\\^`{-\U0010ffff",
}


def _quote(code: int) -> str:
    char = chr(code)
    return char if char.isalnum() or char == " " else f"\\x{{{code:x}}}"


def _cased(spelling: str, flags: int) -> str:
    return f"(?i:{spelling})" if flags & re.IGNORECASE else spelling
