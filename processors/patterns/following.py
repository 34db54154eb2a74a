"""Following one growing text with an automaton: up to where it is settled, as long as nothing is found in it."""

from __future__ import annotations

from collections.abc import Sequence

from processors.patterns.automaton import MOST_CHARS, Automaton, Configuration, Step

#: Behind a finding, at most so much text is read again to go on from there; more is left to the engine.
_MOST_AGAIN = 256


class Following:
    """Follows a text of which its owner holds what is open, in pieces.

    Where it cannot say, the owner asks the engine, and it goes on from there. With `ascii_only` it reads nothing else: the
    rest is to be read in more than one way.
    """

    def __init__(self, automaton: Automaton, *, ascii_only: bool) -> None:
        self._automaton = automaton
        self._ascii_only = ascii_only
        #: None where it is lost.
        self._at: Configuration | None = None
        #: Where each group of the configuration began in the text that is open.
        self._starts: Sequence[int] = ()

    def read(self, before: str, held: Sequence[str], length: int, delta: str) -> int | None:
        """Return how much is settled of what is `held`, of `length` in all, with `delta` behind it: nothing is found there.

        The caller lets go of that much. `before` precedes it. None if something may be found, or if that is not known.
        """
        at, self._at = self._at, None
        step = at.steps.get(delta) if at is not None else None
        if step is None:
            step = self._step(at, before, held, length, delta)
            if step is None:
                return None
        at, begun = step
        if at.matched:
            settled = self._settled(begun, length)
            if not begun or begun[0] != 0 or settled or self._automaton.lazy:
                # What matched may be found now. It cannot be while all is open, unless it was lazy.
                return None
        elif not begun:
            self._starts = ()
            settled = length + len(delta)
        elif len(begun) == 1:
            (start,) = begun
            settled = self._starts[start] if start >= 0 else length + ~start
            self._starts = _AT_ONCE
        else:
            settled = self._settled(begun, length)
        self._at = at
        return settled

    def _settled(self, begun: Sequence[int], length: int) -> int:
        """Return where the first group began; it is where what is open begins from now on."""
        starts = [self._starts[start] if start >= 0 else length + ~start for start in begun]
        settled = starts[0] if starts else 0
        self._starts = [start - settled for start in starts]
        return settled

    def _step(self, at: Configuration | None, before: str, held: Sequence[str], length: int, delta: str) -> Step | None:
        """Return where `delta` leads from where it is, or is found to be by reading again what is held."""
        if len(delta) > MOST_CHARS or (self._ascii_only and not delta.isascii()):
            return None
        if at is None and (at := self._again(before, held, length)) is None:
            return None
        return self._automaton.read(at, delta)

    def _again(self, before: str, held: Sequence[str], length: int) -> Configuration | None:
        if length > _MOST_AGAIN:
            return None
        text = "".join(held)
        if self._ascii_only and not (text.isascii() and before[-1:].isascii()):
            # The character before counts as well: it is the neighbour of what begins here.
            return None
        step = self._automaton.read_once(self._automaton.outset(before), text)
        if step is None:
            return None
        self._starts = [~start for start in step.starts]
        if step.to.matched and (self._automaton.lazy or self._starts[:1] != [0]):
            return None
        return step.to


#: The starts of one group, where what is open begins.
_AT_ONCE = (0,)
