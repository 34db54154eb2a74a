"""What must stand beside a match, as part of the pattern: RE2 has no look-arounds, but it can read one character more.

A neighbour is spelt as the class of characters that may stand there, or as nothing at all where that will do. A word
boundary asks for one kind of neighbour if the match begins (or ends) with a word character, and for the other if it does
not: a pattern whose matches do both is split in two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from processors.patterns import tree
from processors.patterns.classes import spell_set
from processors.patterns.cuts import CUT
from processors.patterns.tree import Char, Choice, Edge, Node, Repeat, nullable

_ANY = "(?s:.)"


@dataclass(frozen=True, slots=True)
class Framed:
    """A pattern of matches, and what may stand beside them on one side.

    `neighbour` is a class for RE2, None if no character may. `nothing` says that the text may begin (or end) there,
    `last_newline` that it may end behind one newline more.
    """

    body: Node
    neighbour: str | None
    nothing: bool
    last_newline: bool = False

    def behind(self) -> str:
        """Return what follows the match, for RE2."""
        allowed = [
            *([self.neighbour] if self.neighbour else []),
            *([r"\z"] if self.nothing else []),
            *([r"\n\z"] if self.last_newline else []),
        ]
        return f"(?:{'|'.join(allowed)})"

    def behind_or_cut(self) -> str:
        """Return what follows the match in a text that may go on, or its cut end, for RE2."""
        allowed = [
            *([self.neighbour] if self.neighbour else []),
            CUT,
            *([rf"\n{CUT}"] if self.last_newline else []),
        ]
        return f"(?:{'|'.join(allowed)})"


def framed_before(body: Node, edges: Sequence[Edge]) -> list[Framed]:
    """Return `body` with what may stand before it. Each match of it belongs to exactly one of the results."""
    return list(_halves(body, edges, _beginning))


def framed_after(body: Node, edges: Sequence[Edge]) -> list[Framed]:
    """Return `body` with what may stand behind it. Of matches that begin at one place, those of the first result count."""
    return list(_halves(body, edges, _ending))


def _halves(body: Node, edges: Sequence[Edge], half: Callable[[Node, str, bool], Node | None]) -> Iterator[Framed]:
    word = next((edge.boundary for edge in edges if edge.boundary), None)
    if word is None:
        yield _frame(body, edges, None, nothing=True)
        return
    inside, outside = half(body, word, True), half(body, word, False)
    if inside is not None:
        yield _frame(body if outside is None else inside, edges, f"(?!{word})", nothing=True)
    if outside is not None:
        yield _frame(body if inside is None else outside, edges, f"(?={word})", nothing=False)


def _frame(body: Node, edges: Sequence[Edge], beside: str | None, *, nothing: bool) -> Framed:
    conditions = [edge.condition for edge in edges if edge.condition] + ([beside] if beside else [])
    alone = [edge for edge in edges if edge.alone]
    if alone:
        newline = all(edge.last_newline for edge in alone) and re.match("".join(conditions), "\n") is not None
        return Framed(body, None, nothing, newline)
    if len(conditions) == 1:
        neighbour = _BESIDE_BOUNDARY.get(conditions[0]) or edges[0].spelling or spell_set(conditions[0], _ANY)
    else:
        neighbour = spell_set(*conditions, _ANY)
    return Framed(body, neighbour, nothing)


#: The neighbours at a word boundary, where nothing else is asked of them.
_BESIDE_BOUNDARY = {
    f"(?!{tree.PYTHON_WORD})": f"[^{tree.WORD}]",
    f"(?={tree.PYTHON_WORD})": f"[{tree.WORD}]",
    f"(?!{tree.PYTHON_ASCII_WORD})": r"\W",
    f"(?={tree.PYTHON_ASCII_WORD})": r"\w",
}


def _beginning(node: Node, word: str, inside: bool) -> Node | None:
    """Return what of `node` begins with a `word` character, or unless `inside` with another one; None if nothing does."""
    match node:
        case Char():
            return _narrowed(node, word, inside=inside)
        case Choice(options):
            return _choice([_beginning(option, word, inside) for option in options])
        case Repeat(part, least, most, lazy):
            first = None if most == 0 else _beginning(part, word, inside)
            if first is None or most == 1:
                return first
            rest = Repeat(part, max(least - 1, 0), None if most is None else most - 1, lazy)
            return tree.Sequence((first, rest))
        case tree.Sequence(parts):
            return _sequence_beginning(parts, word, inside) if parts else None


def _sequence_beginning(parts: tuple[Node, ...], word: str, inside: bool) -> Node | None:
    head, rest = parts[0], parts[1:]
    if isinstance(head, tree.Sequence):
        return _beginning(tree.Sequence((*head.parts, *rest)), word, inside)
    if isinstance(head, Choice) and nullable(head):
        return _beginning(Choice(tuple(tree.Sequence((option, *rest)) for option in head.options)), word, inside)
    first = _beginning(head, word, inside)
    ways = [
        tree.Sequence((first, *rest)) if first is not None else None,
        _beginning(tree.Sequence(rest), word, inside) if nullable(head) else None,
    ]
    return _choice(ways[::-1] if isinstance(head, Repeat) and head.lazy else ways)


def _ending(node: Node, word: str, inside: bool) -> Node | None:
    """Return what of `node` ends with a `word` character, or unless `inside` with another one; None if nothing does."""
    found = _beginning(_mirrored(node), word, inside)
    return None if found is None else _mirrored(found)


def _choice(options: Sequence[Node | None]) -> Node | None:
    found = tuple(option for option in options if option is not None)
    return Choice(found) if len(found) > 1 else next(iter(found), None)


def _narrowed(char: Char, word: str, *, inside: bool) -> Char | None:
    condition, other = (f"(?={word})", f"(?!{word})") if inside else (f"(?!{word})", f"(?={word})")
    if char.literal is not None:
        return char if re.match(condition, char.literal) else None
    spelling = spell_set(condition, char.python)
    if spelling is None or spell_set(other, char.python) is None:
        return char if spelling else None
    return Char(spelling, condition + char.python)


def _mirrored(node: Node) -> Node:
    match node:
        case Char():
            return node
        case Choice(options):
            return Choice(tuple(_mirrored(option) for option in options))
        case Repeat(part, least, most, lazy):
            return Repeat(_mirrored(part), least, most, lazy)
        case tree.Sequence(parts):
            return tree.Sequence(tuple(_mirrored(part) for part in reversed(parts)))
