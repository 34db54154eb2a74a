"""Following one growing text with an automaton: up to where it is settled, as long as nothing is found in it."""

from __future__ import annotations

from collections.abc import Sequence

from processors.patterns.automaton import MOST_CHARS, Automaton, Configuration

#: Behind a finding, at most so much text is read again to go on from there; more is left to the engine.
_MOST_AGAIN = 256


class Following:
    """Follows a text that its owner holds, in pieces: what precedes `settled` are neighbours of the rest.

    Where it cannot say, the owner asks the engine, and it goes on from there. With `ascii_only` it reads nothing else: the
    rest is to be read in more than one way.
    """

    def __init__(self, automaton: Automaton, *, ascii_only: bool) -> None:
        self._automaton = automaton
        self._ascii_only = ascii_only
        #: None where it is lost.
        self._at: Configuration | None = None
        self._starts: list[int] = []

    def read(self, held: Sequence[str], settled: int, length: int, delta: str) -> int | None:
        """Return up to where the `held` text of `length` is settled with `delta` behind it, if nothing is found in it.

        None if something may be, or if that is not known.
        """
        at, self._at = self._at, None
        if len(delta) > MOST_CHARS or (self._ascii_only and not delta.isascii()):
            return None
        if at is None and (at := self._again(held, settled, length)) is None:
            return None
        step = at.steps.get(delta) or self._automaton.read(at, delta)
        if step is None:
            return None
        at, begun = step
        if not begun:
            self._starts = []
            if at.matched:
                return None
            self._at = at
            return length + len(delta)
        starts = self._starts
        self._starts = starts = [starts[start] if start >= 0 else length + ~start for start in begun]
        if at.matched and (self._automaton.lazy or begun[0] != 0 or starts[0] != settled):
            # What matched may be found now. It cannot be while all from there on is open, unless it was lazy.
            return None
        self._at = at
        return starts[0]

    def shift(self, count: int) -> None:
        """Take note that `count` characters at the beginning of what is held are gone."""
        self._starts = [start - count for start in self._starts]

    def _again(self, held: Sequence[str], settled: int, length: int) -> Configuration | None:
        """Return where reading what is held leads to, if that is known."""
        self._starts = []
        if length - settled > _MOST_AGAIN:
            return None
        text = "".join(held)
        if self._ascii_only and not text[max(settled - 1, 0) :].isascii():
            # The character before counts as well: it is the neighbour of what begins here.
            return None
        step = self._automaton.read_once(self._automaton.outset(text[:settled]), text[settled:])
        if step is None:
            return None
        self._starts = [settled + ~start for start in step.starts]
        if step.to.matched and (self._automaton.lazy or self._starts[:1] != [settled]):
            return None
        return step.to
