r"""From a pattern, one that matches what it matches, and what a cut has left of a match: which of the two comes first.

That a text could go on to a longer match does not make the match in it uncertain: `<.*?>` is through with its first `>`.
Which of all ways to match counts is a matter of their order, and an engine keeps that order: of the ways from one place, it
follows all that come before the best one so far. So the text is given a mark at its end, and each character of the pattern
may also be that mark, or stand behind it:

    x         becomes  x, or the mark and the end, or the end

A way that is still open when the text ends then matches up to behind the mark. If the match that is found ends before the
mark, none of the ways before it is open, and no text that follows makes a difference. If it ends behind the mark, some way
before all whole matches is open, and some text that follows takes it. The mark is a byte that is in no text.
"""

from __future__ import annotations

from processors.patterns.tree import Char, Choice, Node, Repeat, Sequence

#: No byte of UTF-8, so that no class takes it for a character.
MARK = b"\xff"
#: The end of a text that may go on.
CUT = r"\C?\z"


def with_cuts(node: Node) -> Node:
    """Return the tree that matches what `node` does, and what a cut leaves of it with a mark behind."""
    match node:
        case Char(spelling, python):
            return Char(f"(?:{spelling}|{CUT})", python)
        case Sequence(parts):
            return Sequence(tuple(with_cuts(part) for part in parts))
        case Choice(options):
            return Choice(tuple(with_cuts(option) for option in options))
        case Repeat(part, least, most, lazy):
            return Repeat(with_cuts(part), least, most, lazy)
