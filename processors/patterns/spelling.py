"""A parsed pattern as expressions for RE2: what matches, and what could still become, or add to, a match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from processors.patterns import tree
from processors.patterns.cuts import with_cuts
from processors.patterns.edges import Framed, framed_after, framed_before
from processors.patterns.prefixes import open_texts
from processors.patterns.tree import EMPTY, Char, Choice, Node, Parsed, Repeat, is_lazy, nullable, spell

#: What nothing matches.
_NEVER = r"[^\x00-\x{10ffff}]"


@dataclass(frozen=True, slots=True)
class Spelt:
    """A pattern for RE2: its `matches`, and the texts that are `opened` for it.

    With `neighbour`, both begin with the one character before. The `first_` ones are for the beginning of a text, where
    there is none; what matches there may also begin further on. Of the groups of an expression of matches, the one that
    took part is the match; without `groups` all of it is.

    `cut` and `first_cut` find what is certain in a text that may go on (`processors.patterns.cuts`): they are there for lazy
    patterns, of which a match can be certain though longer texts match.

    For Python, `starts` is a class of the characters that a match can begin with, and `needs` a text without which there
    is none, if one is known.
    """

    matches: str
    opened: str
    neighbour: bool = False
    first_matches: str = ""
    first_opened: str = ""
    groups: int = 0
    first_groups: int = 0
    starts: str = ""
    needs: str = ""
    cut: str = ""
    first_cut: str = ""


def spelt(parsed: Parsed) -> Spelt:
    """Return the expressions of a pattern."""
    starts = f"(?:{'|'.join(dict.fromkeys(char.python for char in _first(parsed.body)))})"
    needs = min(_needed(parsed.body), key=str.isalnum, default="")
    lazy = is_lazy(parsed.body)
    if not parsed.before:
        whole = [Framed(parsed.body, "", nothing=True)]
        matches, opened = _with_ends(whole, parsed)
        groups = len(matches) if parsed.after else 0
        cut = "|".join(_with_cuts(whole, parsed)) if lazy else ""
        return Spelt("|".join(matches), "|".join(opened), groups=groups, starts=starts, needs=needs, cut=cut)
    begun = framed_before(parsed.body, parsed.before)
    beside = [one for one in begun if one.neighbour]
    alone = [Framed(one.body, "", nothing=True) for one in begun if one.nothing]
    inside, opened = _with_ends(beside, parsed)
    first, first_opened = _with_ends(alone, parsed)
    behind_any = "|".join(inside) or _NEVER
    cut = "|".join(_with_cuts(beside, parsed)) or _NEVER
    return Spelt(
        behind_any,
        "|".join(opened) or _NEVER,
        neighbour=True,
        first_matches="|".join([*(rf"\A{one}" for one in first), behind_any]),
        first_opened="|".join(first_opened) or _NEVER,
        groups=len(inside),
        first_groups=len(first),
        starts=starts,
        needs=needs,
        cut=cut if lazy else "",
        first_cut="|".join([*(rf"\A{one}" for one in _with_cuts(alone, parsed)), cut]) if lazy else "",
    )


def _with_ends(begun: Sequence[Framed], parsed: Parsed) -> tuple[list[str], list[str]]:
    """Return the matches with what stands on both sides, and what is open behind the same neighbours."""
    matches: list[str] = []
    opened: list[str] = []
    for start in begun:
        ends = framed_after(start.body, parsed.after) if parsed.after else []
        opened.append(f"{start.neighbour}(?:{_open(start.body, ends)})")
        if not ends:
            grouped = f"({spell(start.body)})" if parsed.before else f"(?:{spell(start.body)})"
            matches.append(f"{start.neighbour}{grouped}")
        matches += (f"{start.neighbour}({spell(end.body)}){end.behind()}" for end in ends)
    return matches, opened


def _with_cuts(begun: Sequence[Framed], parsed: Parsed) -> list[str]:
    """Return the matches with what stands on both sides, in the same order, and what a cut leaves of them."""
    cut: list[str] = []
    for start in begun:
        ends = framed_after(start.body, parsed.after) if parsed.after else []
        if not ends:
            cut.append(f"{start.neighbour}(?:{spell(with_cuts(start.body))})")
        cut += (f"{start.neighbour}(?:{spell(with_cuts(end.body))}){end.behind_or_cut()}" for end in ends)
    return cut


def _open(body: Node, ends: Sequence[Framed]) -> str:
    """Return the texts open for `body`: what must stand behind a match is known only with the next character."""
    opened = f"(?:{spell(open_texts(body) or EMPTY)})?"
    if not ends:
        return opened
    newline = r"\n?" if any(end.last_newline for end in ends) else ""
    return f"(?:{spell(body)}){newline}|{opened}"


def _first(node: Node) -> list[Char]:
    """Return the characters that what `node` matches can begin with."""
    match node:
        case Char():
            return [node]
        case Choice(options):
            return [char for option in options for char in _first(option)]
        case Repeat(part, _, most, _):
            return [] if most == 0 else _first(part)
        case tree.Sequence(parts):
            found: list[Char] = []
            for part in parts:
                found += _first(part)
                if not nullable(part):
                    break
            return found


def _needed(node: Node) -> list[str]:
    """Return characters that are in all that `node` matches."""
    match node:
        case Char(literal=literal):
            # One that has a case may stand there in another.
            return [literal] if literal is not None and literal.lower() == literal.upper() else []
        case tree.Sequence(parts):
            return [char for part in parts for char in _needed(part)]
        case Repeat(part, least, _, _) if least:
            return _needed(part)
        case _:
            return []
