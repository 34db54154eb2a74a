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

from processors.patterns.errors import PatternError

WORD = r"\pL\p{N}_"
SPACE = r"\s\x0b\x1c-\x1f\x{85}\pZ"
DIGIT = r"\p{Nd}"


@dataclass(frozen=True, slots=True)
class Char:
    """One character out of a class, as RE2 spells the class."""

    spelling: str


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
    """What must stand beside a match: nothing or a character that fits `allowed` (a Python class), or a word boundary.

    `end_only` asks for nothing at all: the beginning or the end of the text.
    """

    allowed: str | None = None
    boundary: bool = False
    end_only: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """A pattern: its `body`, and what must stand `before` and `after` a match of it."""

    body: Node
    before: tuple[Edge, ...]
    after: tuple[Edge, ...]
    ignore_case: bool


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
    return Parsed(body, tuple(before), tuple(after), bool(flags & re.IGNORECASE))


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
    if kind is op.LITERAL:
        return Char(_quote(value))
    if kind is op.NOT_LITERAL:
        return Char(f"[^{_in_class(value)}]")
    if kind is op.ANY:
        return Char(r"(?s:.)" if flags & re.DOTALL else r"[^\n]")
    if kind is op.IN:
        return Char(_class(value, flags))
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
    if len(inner) != 1 or inner[0][0] not in (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY):
        return None
    spelling = _python_class(inner[0], flags)
    if kind is op.ASSERT_NOT:
        return Edge(allowed=f"(?!{spelling})(?s:.)")
    raise PatternError("a positive look-around cannot be told from the end of the text: use a negative one")


def _anchor(value: Any, flags: int, *, behind: bool) -> Edge | None:
    if value is op.AT_BOUNDARY:
        return Edge(boundary=True)
    if behind and value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
        lines = value is op.AT_BEGINNING and flags & re.MULTILINE
        return Edge(allowed=r"\n") if lines else Edge(end_only=True)
    if not behind and value in (op.AT_END, op.AT_END_STRING):
        lines = value is op.AT_END and flags & re.MULTILINE
        return Edge(allowed=r"\n") if lines else Edge(end_only=True)
    return None


def _class(members: Any, flags: int) -> str:
    negated = members[0][0] is op.NEGATE
    spelt = "".join(_member(member, flags) for member in members if member[0] is not op.NEGATE)
    return f"[{'^' if negated else ''}{spelt}]"


def _member(member: tuple[Any, Any], flags: int) -> str:
    kind, value = member
    if kind is op.LITERAL:
        return _in_class(value)
    if kind is op.RANGE:
        return f"{_in_class(value[0])}-{_in_class(value[1])}"
    return _category(value, flags)


def _category(value: Any, flags: int) -> str:
    """Return the members of a category; RE2 has no negated category inside a class but for single properties."""
    if flags & re.ASCII:
        return {
            op.CATEGORY_DIGIT: r"\d",
            op.CATEGORY_NOT_DIGIT: r"\D",
            op.CATEGORY_SPACE: r"\s\x0b",
            op.CATEGORY_WORD: r"\w",
            op.CATEGORY_NOT_WORD: r"\W",
        }.get(value) or _refuse_category()
    return {
        op.CATEGORY_DIGIT: DIGIT,
        op.CATEGORY_NOT_DIGIT: r"\P{Nd}",
        op.CATEGORY_SPACE: SPACE,
        op.CATEGORY_NOT_SPACE: _NOT_SPACE,
        op.CATEGORY_WORD: WORD,
        op.CATEGORY_NOT_WORD: _NOT_WORD,
    }.get(value) or _refuse_category()


#: Everything that is no space: letters, marks, numbers, punctuation, symbols, and the controls that do not count as space.
_NOT_SPACE = r"\pL\pM\pN\pP\pS\p{Cf}\p{Co}\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}"
#: Everything that is no letter, number or underscore.
_NOT_WORD = (
    r"\pM\pS\pZ\pC\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}\x{203f}\x{2040}\x{2054}\x{fe33}\x{fe34}\x{fe4d}-\x{fe4f}\x{ff3f}"
)


def _refuse_category() -> str:
    raise PatternError("this negated class cannot be spelt here: write out what it should take in")


def _python_class(item: tuple[Any, Any], flags: int) -> str:
    """Return a look-around's single class for Python, which checks it against one character."""
    kind, value = item
    if kind is op.LITERAL:
        return re.escape(chr(value))
    if kind is op.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    if kind is op.ANY:
        return r"(?s:.)" if flags & re.DOTALL else r"."
    spelt = ""
    for sub, of in value:
        if sub is op.NEGATE:
            spelt += "^"
        elif sub is op.LITERAL:
            spelt += re.escape(chr(of))
        elif sub is op.RANGE:
            spelt += f"{re.escape(chr(of[0]))}-{re.escape(chr(of[1]))}"
        else:
            spelt += _PYTHON_CATEGORIES[of]
    return f"[{spelt}]"


_PYTHON_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


def _quote(code: int) -> str:
    char = chr(code)
    return char if char.isalnum() or char == " " else f"\\x{{{code:x}}}"


def _in_class(code: int) -> str:
    return _quote(code)
