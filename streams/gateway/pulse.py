"""How many turns end, and how long they took: counted in slots of time for each tenant, however many there are."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import BaseModel

from streams.gateway.traces import Trace

#: Times are kept to within a tenth, from this many seconds up.
_FINEST_S = 0.001
_STEP = math.log(1.1)


class Spread(BaseModel):
    """Half of the times are no longer than `p50`, 95 of 100 no longer than `p95`; in seconds, a tenth too long at most."""

    p50: float
    p95: float


class Slot(BaseModel):
    """The turns that ended from `start` (epoch seconds) on: how many by outcome, and how long they took.

    `first_s` is from a turn's beginning to the first text that was released, `whole_s` to its end.
    """

    start: float
    ended: dict[str, int]
    first_s: Spread | None = None
    whole_s: Spread | None = None


class Pulse(BaseModel):
    """The slots of `slot_s` seconds, from the oldest to the one that `now` is in.

    Turns that may have begun before this gateway read their topics are counted, and have no times.
    """

    now: float
    slot_s: float
    slots: list[Slot]


@dataclass(slots=True)
class _Counts:
    ended: Counter[str] = field(default_factory=Counter)
    firsts: Counter[int] = field(default_factory=Counter)
    wholes: Counter[int] = field(default_factory=Counter)


class Meter:
    """Counts the turns of the latest `slots` slots of `slot_s` seconds, for the `max_tenants` tenants heard of last.

    A turn is counted `settle_s` seconds after its end: what tells of its beginning may come later than its end does.
    """

    def __init__(
        self,
        *,
        slot_s: float = 10.0,
        slots: int = 60,
        settle_s: float = 2.0,
        max_tenants: int = 200,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._slot_s = slot_s
        self._slots = slots
        self._settle_s = settle_s
        self._max_tenants = max_tenants
        self._clock = clock
        self._ended: deque[tuple[float, Trace]] = deque()
        self._tenants: OrderedDict[str, dict[int, _Counts]] = OrderedDict()

    def ended(self, trace: Trace) -> None:
        """Take in that the turn of `trace` has ended."""
        self._ended.append((self._clock() + self._settle_s, trace))
        self._settle()

    def of(self, tenant: str) -> Pulse:
        """Return the pulse of `tenant`."""
        self._settle()
        now = self._clock()
        newest = self._number(now)
        known = self._tenants.get(tenant, {})
        slots = [
            Slot(
                start=number * self._slot_s,
                ended=dict(one.ended),
                first_s=_spread(one.firsts),
                whole_s=_spread(one.wholes),
            )
            for number in range(newest - self._slots + 1, newest + 1)
            for one in (known.get(number) or _Counts(),)
        ]
        return Pulse(now=now, slot_s=self._slot_s, slots=slots)

    def _settle(self) -> None:
        now = self._clock()
        while self._ended and self._ended[0][0] <= now:
            _, trace = self._ended.popleft()
            self._count(trace, self._number(now) - self._slots)

    def _count(self, trace: Trace, too_old: int) -> None:
        number = self._number(trace.ended_at or 0.0)
        if trace.ended_at is None or trace.outcome is None or number <= too_old:
            return
        slots = self._tenants.setdefault(trace.turn.tenant, {})
        self._tenants.move_to_end(trace.turn.tenant)
        if len(self._tenants) > self._max_tenants:
            self._tenants.popitem(last=False)
        counts = slots.get(number)
        if counts is None:
            for old in [one for one in slots if one <= too_old]:
                del slots[old]
            counts = slots[number] = _Counts()
        counts.ended[trace.outcome] += 1
        began = trace.began_at
        # A repeated request gets the ending alone again, of a turn that may be forgotten here.
        if trace.whole and began is not None and began < trace.ended_at:
            counts.wholes[_bucket(trace.ended_at - began)] += 1
            if trace.first_text_at is not None:
                counts.firsts[_bucket(trace.first_text_at - began)] += 1

    def _number(self, at: float) -> int:
        return math.floor(at / self._slot_s)


def _bucket(seconds: float) -> int:
    return math.ceil(math.log(max(seconds, _FINEST_S) / _FINEST_S) / _STEP)


def _spread(times: Counter[int]) -> Spread | None:
    return Spread(p50=_rank(times, 0.5), p95=_rank(times, 0.95)) if times else None


def _rank(times: Counter[int], share: float) -> float:
    left = math.ceil(share * times.total())
    for bucket in sorted(times):
        left -= times[bucket]
        if left <= 0:
            return _FINEST_S * math.exp(bucket * _STEP)
    raise AssertionError("a share of all is no more than all")
