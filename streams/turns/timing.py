"""How long one partition's work takes, and what it holds: told to the observer, and nothing depends on it."""

from __future__ import annotations

from streams.ports import Clock
from streams.turns.desk import Desk
from streams.turns.observer import Observer
from streams.turns.plan import Plan
from topics import names
from topics.ids import TurnKey
from topics.records import TextFrame

#: How often what is held is counted, in seconds: that goes through all open turns.
HELD_S = 5.0


class Timing:
    """Keeps the times of one partition's records."""

    def __init__(self, desk: Desk, observer: Observer, clock: Clock) -> None:
        self._desk = desk
        self._observer = observer
        self._clock = clock
        self._read_at: float | None = None
        self._batch_read_at = 0.0
        self._counted_at = 0.0
        self._owed: dict[TurnKey, list[tuple[int, float]]] = {}
        #: How much was released of each turn that holds some text, and when that was first seen.
        self._holding: dict[TurnKey, tuple[int, int, float]] = {}

    def read(self) -> None:
        """Note that a record was read, which waits now."""
        if self._read_at is None:
            self._read_at = self._clock()

    def taken(self, now: float) -> None:
        """Note that all that waited is being worked on."""
        self._batch_read_at = now if self._read_at is None else self._read_at
        self._read_at = None

    def journaled(self, began: float) -> None:
        """Note that the journal is durable now, for which it was asked at `began`."""
        self._observer.journaled(max(0.0, self._clock() - began))

    def put(self, plan: Plan) -> None:
        """Note that what the plan releases is on its way."""
        for outgoing in plan.outgoing:
            released = [one.record for one in outgoing.effects if one.topic is names.RELEASED_FRAMES]
            if not released:
                continue
            self._owed.setdefault(outgoing.turn, []).append((outgoing.n, self._batch_read_at))
            turn = self._desk.turns.get(outgoing.turn)
            if turn is not None and any(_is_first(record) for record in released):
                self._observer.first_release(max(0.0, self._clock() - turn.accepted_at))

    def confirmed(self, turn: TurnKey, n: int) -> None:
        """Note that the broker has what was released because of records up to `n` of a turn."""
        owed = self._owed.pop(turn, [])
        now = self._clock()
        for number, read_at in owed:
            if number <= n:
                self._observer.released(max(0.0, now - read_at))
        if left := [one for one in owed if one[0] > n]:
            self._owed[turn] = left

    def count_held(self, now: float) -> None:
        """Count what the gate holds and how old the oldest turn is, if it is time to."""
        if now - self._counted_at < HELD_S:
            return
        self._counted_at = now
        turns = self._desk.turns
        held, holding = 0, {}
        for key, turn in turns.items():
            released = len(turn.answer.released)
            if (lacking := len(turn.buffer) - released) > 0:
                held += lacking
                before = self._holding.get(key)
                same = before is not None and before[:2] == (turn.step, released)
                holding[key] = before if before is not None and same else (turn.step, released, now)
        self._holding = holding
        oldest = min((turn.accepted_at for turn in turns.values()), default=now)
        since = min((seen for _, _, seen in holding.values()), default=now)
        self._observer.held(self._desk.partition, held, max(0.0, now - oldest), max(0.0, now - since))


def _is_first(record: object) -> bool:
    return isinstance(record, TextFrame) and (record.step, record.attempt, record.offset) == (0, 0, 0)
