"""What a growing text leaves open, found by reading each piece of it once: the patterns as one automaton.

The engine tells where the open end of a text begins by searching all that is held, again with every piece that arrives.
This automaton remembers instead: one *group* of positions in the patterns for each place from which the text read so far
could still become a match, the leftmost place first. A later group whose positions are all in an earlier one is dropped:
whatever it could become, the earlier one could too, from further left. What is left of a text is a *configuration*; most
texts have few, and models write the same short pieces again and again, so that a step is one look into a table.

It knows what is open and that something matched, not what: then the engine is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from processors.patterns import tree
from processors.patterns.edges import Framed, framed_after, framed_before
from processors.patterns.engine import Encoded, Engine
from processors.patterns.tree import Char, Choice, Node, Parsed, Repeat

#: Longer pieces cost less by the engine, and are too seldom the same to be remembered.
MOST_CHARS = 32
#: Patterns of more characters than this, counted repeats written out, are left to the engine.
_MOST_POSITIONS = 4_000
_MOST_GROUPS = 64
#: So many steps are remembered; then all are forgotten.
_MOST_STEPS = 50_000
#: Stands for the end of a match among the positions that may follow.
_MATCHED = -1
_ALONE = frozenset({_MATCHED})
_FIRST_ALONE = (0,)
#: What longer pieces are read by.
_WORDS = re.compile(r"\S{1,16}\s?|\s")
#: The characters of which the classes are looked up beforehand.
_USUAL = "".join(map(chr, range(128)))


class Step(NamedTuple):
    """What reading a piece leads `to`.

    `starts` tells for each group where it began: as which group of the configuration before, or if negative at which
    character of the piece, counted down from -1.
    """

    to: Configuration
    starts: tuple[int, ...]


class Move(NamedTuple):
    """What a step makes of a text in which nothing is found, as far as the piece alone tells.

    It leads `to` a configuration, whose moves are `moves`. With a `head`, what was held goes out and the head behind it, and
    the `rest` is held, in which the groups began at `starts`. Without one (None), all that was held still is, and the piece
    behind it; `starts` is then as in the step.
    """

    to: Configuration
    moves: dict[str, Move]
    head: str | None
    rest: str
    starts: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Configuration:
    """What the text read so far could become: the positions that may follow, by the places where such a match began.

    `begin` are the positions a match may begin with at the next character. `matched` says that something matched since
    the text that is held began.
    """

    groups: tuple[frozenset[int], ...]
    begin: frozenset[int]
    matched: bool
    steps: dict[str, Step] = field(default_factory=dict)
    moves: dict[str, Move] = field(default_factory=dict)
    #: The steps again, by the classes of the one character that they read: most characters are in the same ones.
    alike: dict[frozenset[int], Step] = field(default_factory=dict)


def move_of(step: Step, piece: str) -> Move | None:
    """Return the move that reading `piece` is; None if that takes to know more than the piece."""
    to, starts = step
    if not starts:
        return Move(to, to.moves, piece, "", ())
    first = starts[0]
    if first > 0:
        # A later group is the first one now: it began somewhere in what is held.
        return None
    if first == 0:
        return Move(to, to.moves, None, "", starts)
    place = ~first
    return Move(to, to.moves, piece[:place], piece[place:], tuple(~start - place for start in starts))


@dataclass(slots=True)
class _Way:
    """One way to begin a match: with `first`, behind a character of class `behind` (None: any), or at the `outset`."""

    first: frozenset[int]
    behind: int | None
    outset: bool


class Automaton:
    """Patterns as one automaton. Configurations and steps are made as texts need them, and shared by all texts."""

    def __init__(self, patterns: Iterable[Parsed]) -> None:
        """Build it.

        Raises:
            TooManyPositionsError: the patterns are too long for it.
        """
        self._classes: dict[str, int] = {}
        self._engines: list[Engine] = []
        self._class_of: list[int | None] = []
        self._follow: list[set[int]] = []
        patterns = tuple(patterns)
        #: Whether what matched may be certain though all from there on is open.
        self.lazy = any(tree.is_lazy(parsed.body) for parsed in patterns)
        self._ways = [way for parsed in patterns for way in self._built(parsed)]
        self._kinds = self._kinds_of_usual()
        self._begins: dict[frozenset[int] | None, frozenset[int]] = {}
        self._followed: dict[tuple[frozenset[int], frozenset[int]], frozenset[int]] = {}
        self._known: dict[tuple[tuple[frozenset[int], ...], frozenset[int], bool], Configuration] = {}
        self.remembered = 0

    def outset(self, before: str) -> Configuration:
        """Return the configuration behind the text `before`, of which nothing is open; empty at a text's beginning."""
        return self._configuration((), self._begin(self._kinds_of(before[-1]) if before else None), matched=False)

    def read(self, configuration: Configuration, piece: str) -> Step | None:
        """Return where `piece` leads; None if it leads to too many places."""
        step = configuration.steps.get(piece)
        if step is not None:
            return step
        if len(piece) == 1:
            step = self._step(configuration, piece)
        else:
            words = _WORDS.findall(piece)
            # Words come again where what is made of several of them does not.
            step = self._through(configuration, piece if len(words) == 1 else words)
        if step is None or len(step.starts) > _MOST_GROUPS:
            return None
        self._remember(configuration, piece, step)
        return step

    def read_once(self, configuration: Configuration, text: str) -> Step | None:
        """Do the same for a text that is not likely to come again: it is read, and not remembered, as a whole."""
        return self._through(configuration, _WORDS.findall(text))

    def _through(self, configuration: Configuration, pieces: Iterable[str]) -> Step | None:
        """Return where `pieces` lead, one after the other."""
        starts: Sequence[int] = range(len(configuration.groups))
        place = 0
        for piece in pieces:
            step = configuration.steps.get(piece) or self.read(configuration, piece)
            if step is None:
                return None
            configuration, begun = step
            # With no group left, or the first one alone, as after most characters, there is nothing to be worked out.
            if begun and begun != _FIRST_ALONE:
                starts = [starts[start] if start >= 0 else start - place for start in begun]
            place += len(piece)
        return Step(configuration, tuple(starts[: len(configuration.groups)]))

    def _remember(self, configuration: Configuration, piece: str, step: Step) -> None:
        if self.remembered >= _MOST_STEPS:
            for known in list(self._known.values()):
                known.steps.clear()
                known.moves.clear()
                known.alike.clear()
            self._known.clear()
            self._kinds = self._kinds_of_usual()
            self._begins.clear()
            self._followed.clear()
            self.remembered = 0
        configuration.steps[piece] = step
        self.remembered += 1

    def _step(self, before: Configuration, char: str) -> Step:
        kinds = self._kinds_of(char)
        step = before.alike.get(kinds)
        if step is not None:
            return step
        groups: list[frozenset[int]] = []
        starts: list[int] = []
        matched = before.matched
        for number, group in enumerate((*before.groups, before.begin)):
            following = self._following(group, kinds)
            if _MATCHED in following:
                matched = True
                following -= _ALONE
            if following and not any(following <= earlier for earlier in groups):
                groups.append(following)
                starts.append(number if number < len(before.groups) else -1)
        step = Step(self._configuration(tuple(groups), self._begin(kinds), matched=matched), tuple(starts))
        before.alike[kinds] = step
        return step

    def _following(self, group: frozenset[int], kinds: frozenset[int]) -> frozenset[int]:
        """Return what follows those positions of `group` that take a character of these classes."""
        key = group, kinds
        following = self._followed.get(key)
        if following is None:
            taken = (self._follow[position] for position in group if self._class_of[position] in kinds)
            following = self._followed[key] = frozenset().union(*taken)
        return following

    def _configuration(
        self, groups: tuple[frozenset[int], ...], begin: frozenset[int], *, matched: bool
    ) -> Configuration:
        key = groups, begin, matched
        if key not in self._known:
            self._known[key] = Configuration(*key)
        return self._known[key]

    def _begin(self, before: frozenset[int] | None) -> frozenset[int]:
        """Return what a match may begin with behind a character of the classes `before`; None: where the text begins."""
        begin = self._begins.get(before)
        if begin is None:
            outset, kinds = before is None, before or frozenset()
            ways = (way for way in self._ways if way.behind in kinds or (way.outset if outset else way.behind is None))
            begin = self._begins[before] = frozenset().union(*(way.first for way in ways))
        return begin

    def _kinds_of_usual(self) -> dict[str, frozenset[int]]:
        """Return the classes of each ASCII character, found by one search for each class."""
        usual = Encoded(_USUAL)
        kinds: dict[str, set[int]] = {char: set() for char in _USUAL}
        for kind, engine in enumerate(self._engines):
            for char in engine.all_in(usual):
                kinds[char].add(kind)
        shared: dict[frozenset[int], frozenset[int]] = {}
        return {char: shared.setdefault(found, found) for char, found in ((c, frozenset(k)) for c, k in kinds.items())}

    def _kinds_of(self, char: str) -> frozenset[int]:
        """Return the classes that `char` is in, as the engine reads them."""
        kinds = self._kinds.get(char)
        if kinds is None:
            encoded = Encoded(char)
            kinds = frozenset(kind for kind, engine in enumerate(self._engines) if engine.find(encoded) is not None)
            self._kinds[char] = kinds
        return kinds

    # -- building -----------------------------------------------------------------------------------------------------

    def _built(self, parsed: Parsed) -> Iterator[_Way]:
        begun = framed_before(parsed.body, parsed.before) if parsed.before else [Framed(parsed.body, "", nothing=True)]
        for start in begun:
            ends = framed_after(start.body, parsed.after) if parsed.after else []
            first: set[int] = set()
            for body, tail in [(end.body, self._tail(end)) for end in ends] or [(start.body, {_MATCHED})]:
                part = self._part(body)
                self._link(part.last, tail)
                first |= part.first
            if start.neighbour is None:
                yield _Way(frozenset(first), _NEVER, outset=start.nothing)
            else:
                behind = self._kind(start.neighbour) if start.neighbour else None
                yield _Way(frozenset(first), behind, outset=start.nothing)

    def _tail(self, end: Framed) -> set[int]:
        """Return the positions of what must stand behind a match, which is a match only once that is read."""
        # Nothing is in the class None: a match that the text must end behind is open until more text comes.
        rest = {self._position(None)}
        if end.neighbour:
            beside = self._position(self._kind(end.neighbour))
            self._follow[beside].add(_MATCHED)
            rest.add(beside)
        if end.last_newline:
            newline = self._position(self._kind(r"\n"))
            self._follow[newline].add(self._position(None))
            rest.add(newline)
        return rest

    def _part(self, node: Node) -> _Part:
        match node:
            case Char(spelling):
                position = self._position(self._kind(spelling))
                return _Part({position}, {position}, empty=False)
            case tree.Sequence(parts):
                return self._row(self._part(part) for part in parts)
            case Choice(options):
                built = [self._part(option) for option in options]
                return _Part(
                    set().union(*(one.first for one in built)),
                    set().union(*(one.last for one in built)),
                    empty=any(one.empty for one in built),
                )
            case Repeat(part, least, most, _):
                return self._row(self._repeated(part, least, most))

    def _repeated(self, part: Node, least: int, most: int | None) -> Iterator[_Part]:
        for number in range(max(least, 1) if most is None else most):
            one = self._part(part)
            if most is None and number >= least - 1:
                self._link(one.last, one.first)
            yield _Part(one.first, one.last, empty=one.empty or number >= least)

    def _row(self, parts: Iterable[_Part]) -> _Part:
        row = _Part(set(), set(), empty=True)
        for part in parts:
            self._link(row.last, part.first)
            row = _Part(
                row.first | part.first if row.empty else row.first,
                row.last | part.last if part.empty else part.last,
                empty=row.empty and part.empty,
            )
        return row

    def _link(self, positions: Iterable[int], following: set[int]) -> None:
        for position in positions:
            self._follow[position] |= following

    def _position(self, kind: int | None) -> int:
        if len(self._follow) == _MOST_POSITIONS:
            raise TooManyPositionsError
        self._class_of.append(kind)
        self._follow.append(set())
        return len(self._follow) - 1

    def _kind(self, spelling: str) -> int:
        if spelling not in self._classes:
            self._classes[spelling] = len(self._engines)
            self._engines.append(Engine(spelling))
        return self._classes[spelling]


class TooManyPositionsError(Exception):
    """The patterns are too long for an automaton: leave them to the engine."""


class _Part(NamedTuple):
    """A part of a pattern: the positions it begins and ends with, and whether it matches the empty text."""

    first: set[int]
    last: set[int]
    empty: bool


#: The class behind which no match begins.
_NEVER = -1
