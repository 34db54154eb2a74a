"""From a pattern, the pattern of everything that could still grow into a match of it.

A text is *open* for a pattern if some non-empty continuation makes a match of it: the empty text is, half a match is, and a
whole match is if it can grow. Derived part by part:

    open()        is nothing                           what matches the empty text alone cannot grow
    open(x)       is the empty text                    a character is all or nothing
    open(AB)      is open(A), or A then open(B)
    open(A|B)     is open(A), or open(B)
    open(A{m,n})  is A up to n-1 times, then open(A)

The result is as long as the pattern, but for counted repeats of long parts.
"""

from __future__ import annotations

from processors.patterns.tree import EMPTY, Char, Choice, Node, Repeat, Sequence


def open_texts(node: Node) -> Node | None:
    """Return the tree of the texts that are open for `node`, None if there are none."""
    match node:
        case Char():
            return EMPTY
        case Sequence(parts):
            return _open_sequence(parts)
        case Choice(options):
            opened = tuple(found for option in options if (found := open_texts(option)) is not None)
            return Choice(opened) if opened else None
        case Repeat(part, _, most, _):
            last = None if most == 0 else open_texts(part)
            return None if last is None else Sequence((Repeat(part, 0, None if most is None else most - 1), last))


def _open_sequence(parts: tuple[Node, ...]) -> Node | None:
    """Nest from the end, so that no part is spelt more than twice."""
    opened: Node | None = None
    for part in reversed(parts):
        first = open_texts(part)
        if opened is None:
            opened = first
            continue
        rest = part if opened == EMPTY else Sequence((part, opened))
        opened = rest if first is None else _either(rest, first)
    return opened


def _either(rest: Node, first: Node) -> Node:
    return Repeat(rest, 0, 1) if first == EMPTY else Choice((rest, first))
