"""What must stand beside a match, as part of the pattern: RE2 has no look-arounds, but it can read one character more.

A neighbour is spelt as the class of the characters that may stand there, beside nothing at all where that will do. A word
boundary asks for one kind of neighbour if the match begins (or ends) with a word character, and for another if it does not:
a pattern that can do both is split in two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from processors.patterns import tree
from processors.patterns.classes import spell_set
from processors.patterns.tree import EMPTY, Char, Choice, Edge, Node, Repeat, nullable


@dataclass(frozen=True, slots=True)
class Framed:
    """A pattern of matches, and what may stand beside them on one side.

    `neighbour` is a class for RE2, None if no character may. `nothing` says that the text may begin (or end) there, and
    `last_newline` that it may after a newline that ends it.
    """

    body: Node
    neighbour: str | None
    nothing: bool
    last_newline: bool = False


def framed_before(body: Node, edges: Sequence[Edge]) -> list[Framed]:
    """Return `body` with its neighbours in front; each match is one of exactly one of the results."""
    return [
        Framed(half, neighbour, nothing)
        for half, neighbour, nothing, _ in _halves(body, edges, lambda node, kind: _beginning(_flat(node), kind))
    ]


def framed_after(body: Node, edges: Sequence[Edge]) -> list[Framed]:
    """Return `body` with its neighbours behind. Of matches at one place, those of an earlier result come first."""
    return [
        Framed(half, neighbour, nothing, last_newline)
        for half, neighbour, nothing, last_newline in _halves(
            body, edges, lambda node, kind: _mirrored(_beginning(_flat(_mirrored(node)), kind))
        )
    ]
