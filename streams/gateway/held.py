"""The turns that a gateway holds in memory: bounded, the ones that nobody reads and that have ended first to go."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.records import ReleasedFrame, ResetFrame, TextFrame

if TYPE_CHECKING:
    from aiokafka import ConsumerRecord

#: How many of the turns that nothing has happened to for longest are looked at to find one to let go.
_LOOKED_AT = 256


class Reader:
    """Somebody who waits for news of one turn."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def wake(self) -> None:
        """Say that there may be news."""
        self._news.set()

    async def news(self, limit_s: float) -> bool:
        """Wait for news, and return whether there may be some; False after `limit_s` seconds without."""
        try:
            async with asyncio.timeout(limit_s):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True


@dataclass(slots=True)
class Held:
    """One turn as far as it was released.

    `start` is the partition's offset of its first record, None before there is one. `whole` says that everything from
    there on has been taken in: before that nobody is shown anything of it. `shown` says whether text came before the end.
    Times are epoch seconds, as the broker's records have them.
    """

    view: TurnView
    whole: bool = True
    start: int | None = None
    shown: bool = False
    began_at: float | None = None
    changed_at: float | None = None
    #: What comes while the turn is read again.
    late: list[tuple[ReleasedFrame, int, float]] = field(default_factory=list)
    recovering: bool = False
    readers: set[Reader] = field(default_factory=set)

    @property
    def chars(self) -> int:
        """How many code points are held for it; what the terminal frame repeats is counted too."""
        texts = sum(len(step.text) for step in self.view.steps.values())
        return 2 * texts + len(self.view.postprocessed or "")

    def take(self, frame: ReleasedFrame, offset: int, at: float) -> None:
        """Fold in the frame that came at `offset` and was written `at`."""
        self.start = offset if self.start is None else self.start
        self.began_at = at if self.began_at is None else self.began_at
        self.changed_at = at
        self.view = fold(self.view, frame)
        self.shown = self.shown or isinstance(frame, TextFrame | ResetFrame)

    def wake(self) -> None:
        """Tell all readers."""
        for reader in self.readers:
            reader.wake()


def time_of(record: ConsumerRecord) -> float:
    """Return when a record was written, in epoch seconds; 0 where the broker does not know."""
    return max(0.0, (record.timestamp or 0) / 1000)


class Holding:
    """The turns held, at most `max_turns` of them with at most `max_chars` code points.

    Turns that somebody reads are never let go, so readers (whose number is bounded elsewhere) may exceed both.
    """

    def __init__(self, max_turns: int, max_chars: int) -> None:
        self._max_turns = max_turns
        self._max_chars = max_chars
        self._turns: OrderedDict[TurnKey, Held] = OrderedDict()
        self._sizes: dict[TurnKey, int] = {}
        self._chars = 0

    def __len__(self) -> int:
        return len(self._turns)

    def get(self, turn: TurnKey) -> Held | None:
        """Return what is held of `turn`."""
        return self._turns.get(turn)

    def newest_first(self) -> Iterator[Held]:
        """Yield what is held, the turn that changed last first."""
        return reversed(self._turns.values())

    def put(self, turn: TurnKey, held: Held) -> list[Held]:
        """Take in what there is of `turn`; return what had to be let go for it."""
        self._turns[turn] = held
        self._turns.move_to_end(turn)
        size = held.chars
        self._chars += size - self._sizes.get(turn, 0)
        self._sizes[turn] = size
        lost: list[Held] = []
        while len(self._turns) > self._max_turns or self._chars > self._max_chars:
            victim = self._victim(turn)
            if victim is None:
                break
            self._chars -= self._sizes.pop(victim)
            lost.append(self._turns.pop(victim))
        return lost

    def _victim(self, newest: TurnKey) -> TurnKey | None:
        second_best: TurnKey | None = None
        for number, (turn, held) in enumerate(self._turns.items()):
            if number >= _LOOKED_AT:
                break
            if held.readers or held.recovering or turn == newest:
                continue
            if held.view.closed or held.start is None:
                return turn
            second_best = second_best or turn
        return second_best
