"""Following one growing text with an automaton: up to where it is settled, as long as nothing is found in it.

Most pieces were read from the same configuration before. What is left to do for them is known as a *move*: which of the
piece goes out behind what was held, and which is held from then on. `Following.feed` makes such a move itself, at the cost
of a look into a table; everything else is for `_feed`, which says the same of any piece and leaves moves for the next time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from processors.patterns.automaton import MOST_CHARS, Automaton, Configuration, Move, move_of
from processors.patterns.folding import context, folds_to_itself

#: So many characters before what is unsettled are kept, as neighbours of what may be found there: a finder may look back
#: no further.
CONTEXT = 8
#: So many may be kept: they are done away with together.
_MOST_CONTEXT = 256
#: Of what moves let out, so many pieces are remembered. Of two in a row one is not empty: there are `CONTEXT` characters.
_MOST_MOVED = 2 * CONTEXT
#: Behind a finding, at most so much text is read again to go on from there; more is left to the engine.
_MOST_AGAIN = 256
#: What is held is one text up to this length, and pieces beyond: to join them with every piece would cost their square.
_MOST_JOINED = 1_024
#: The starts of one group, where what is open begins.
_AT_ONCE = (0,)
_NO_MOVES: dict[str, Move] = {}


class Following:
    """Follows a text and holds what is open of it. Without an `automaton` it only holds.

    Where the text is read through `folds`, the automaton reads only what these leave as it is: the rest is to be read in
    more than one way.
    """

    def __init__(self, automaton: Automaton | None, *, folds: bool) -> None:
        self._automaton = automaton
        self._folds = folds
        #: None where it is lost.
        self._at: Configuration | None = None
        #: The moves from there; none while what is held is in pieces.
        self._moves = _NO_MOVES
        #: Where each group of the configuration began in what is held.
        self._starts: Sequence[int] = ()
        #: What may still change, and the pieces behind that where it is long, of so many characters.
        self._held = ""
        self._pieces: list[str] = []
        self._in_pieces = 0
        #: What went out before, and what moves have let out since.
        self._gone = ""
        self._moved: deque[str] = deque(maxlen=_MOST_MOVED)
        self._move_out = self._moved.append

    def feed(self, delta: str) -> str:
        """Take in what follows; return what is now certain."""
        move = self._moves.get(delta)
        if move is None:
            return self._feed(delta)
        self._at, self._moves, head, rest, begun = move
        if head is None:
            self._starts = _AT_ONCE if len(begun) == 1 else self._begun(begun, len(self._held))
            self._held += delta
            if len(self._held) > _MOST_JOINED:
                self._moves = _NO_MOVES
            return ""
        out = self._held + head
        self._held = rest
        self._starts = begun
        self._move_out(out)
        return out

    def _feed(self, delta: str) -> str:
        """Do the same, whatever the piece."""
        raise NotImplementedError

    # -- what is held -------------------------------------------------------------------------------------------------

    @property
    def _length(self) -> int:
        """How much is held."""
        return len(self._held) + self._in_pieces

    def _before(self) -> str:
        """Return what stands before what is held, as much of it as neighbours may be asked for."""
        moved = self._moved
        if moved:
            gone = "".join(moved)
            self._gone = gone if len(moved) == _MOST_MOVED else self._gone + gone
            moved.clear()
        if len(self._gone) > _MOST_CONTEXT:
            self._gone = context(self._gone, len(self._gone), CONTEXT)
        return self._gone

    def _all_held(self) -> str:
        if self._pieces:
            self._keep("", "".join((self._held, *self._pieces)))
        return self._held

    def _take(self, delta: str) -> None:
        """Hold `delta` too."""
        if self._pieces or len(self._held) > _MOST_JOINED:
            self._pieces.append(delta)
            self._in_pieces += len(delta)
        else:
            self._held += delta

    def _let_go(self, settled: int) -> str:
        """Return the first `settled` characters of what is held, which is what it was."""
        if not settled:
            return ""
        text = self._all_held()
        self._keep(text[:settled], text[settled:])
        return text[:settled]

    def _keep(self, before: str, rest: str) -> None:
        """Hold the `rest`, `before` which stands what went out."""
        self._gone = self._before() + before
        self._held = rest
        self._pieces = []
        self._in_pieces = 0

    # -- what is open -------------------------------------------------------------------------------------------------

    def _follow(self, delta: str) -> int | None:
        """Return how much is settled of what is held with `delta` behind it: nothing is found there.

        The caller takes it, and lets go of that much. None if something may be found, or if that is not known.
        """
        at, length = self._at, self._length
        self._at, self._moves = None, _NO_MOVES
        if self._automaton is None or len(delta) > MOST_CHARS or (self._folds and not folds_to_itself(delta)):
            return None
        if at is None and (at := self._again(self._automaton, length)) is None:
            return None
        step = self._automaton.read(at, delta)
        if step is None:
            return None
        to, begun = step
        starts = self._begun(begun, length)
        settled = starts[0] if starts else length + len(delta)
        if to.matched and (not begun or begun[0] != 0 or settled or self._automaton.lazy):
            # What matched may be found now. It cannot be while all is open, unless it was lazy.
            return None
        if delta and not to.matched and (move := move_of(step, delta)) is not None:
            at.moves[delta] = move
        self._at = to
        self._starts = [start - settled for start in starts]
        if length + len(delta) - settled <= _MOST_JOINED:
            self._moves = to.moves
        return settled

    def _begun(self, begun: Sequence[int], length: int) -> Sequence[int]:
        """Return where groups began in what is held, `length` characters, and the piece behind it."""
        return [self._starts[start] if start >= 0 else length + ~start for start in begun]

    def _again(self, automaton: Automaton, length: int) -> Configuration | None:
        """Return where it is, found by reading again what is held."""
        if length > _MOST_AGAIN:
            return None
        before = self._before()
        held = self._all_held()
        if self._folds and not (folds_to_itself(held) and folds_to_itself(before[-1:])):
            # The character before counts as well: it is the neighbour of what begins here.
            return None
        step = automaton.read_once(automaton.outset(before), held)
        if step is None:
            return None
        self._starts = [~start for start in step.starts]
        if step.to.matched and (automaton.lazy or self._starts[:1] != [0]):
            return None
        return step.to
