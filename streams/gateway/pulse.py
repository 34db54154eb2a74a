"""How many turns come and end, and how long they take: counted from the latest turns, in slots of time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from pydantic import BaseModel

from streams.gateway.traces import Trace

#: How many turns are looked at at most.
MAX_TURNS = 5_000


class Spread(BaseModel):
    """Half of the times are no longer than `p50`, 95 of 100 no longer than `p95`; in seconds."""

    p50: float
    p95: float


class Slot(BaseModel):
    """What happened from `start` (epoch seconds) on: turns that began, those that ended by outcome, and their times.

    `first_s` is from a turn's beginning to the first text that was released, `whole_s` to its end.
    """

    start: float
    begun: int = 0
    ended: dict[str, int]
    first_s: Spread | None = None
    whole_s: Spread | None = None


class Pulse(BaseModel):
    """The slots from the oldest to the one that `now` is in; `since` is from when on all turns are counted.

    Turns that began before this gateway read their topics have no times.
    """

    now: float
    slot_s: float
    since: float
    slots: list[Slot]


def pulse(traces: Iterable[Trace], *, now: float, since: float, slot_s: float, slots: int) -> Pulse:
    """Return the pulse of `traces`, which come with the latest first; `since` is from when on they were read."""
    newest = math.floor(now / slot_s)
    oldest = newest - slots + 1
    begun: Counter[int] = Counter()
    ended: dict[int, Counter[str]] = {}
    firsts: dict[int, list[float]] = {}
    wholes: dict[int, list[float]] = {}
    looked = list(islice(traces, MAX_TURNS))
    for trace in looked:
        began, end = trace.began_at, trace.ended_at
        if began is not None and trace.whole:
            begun[math.floor(began / slot_s)] += 1
            if trace.first_text_at is not None:
                firsts.setdefault(math.floor(trace.first_text_at / slot_s), []).append(trace.first_text_at - began)
            if end is not None:
                wholes.setdefault(math.floor(end / slot_s), []).append(end - began)
        if end is not None and trace.outcome is not None:
            ended.setdefault(math.floor(end / slot_s), Counter())[trace.outcome] += 1
    if len(looked) == MAX_TURNS:
        since = max(since, looked[-1].ended_at or looked[-1].began_at or since)
    rows = [
        Slot(
            start=number * slot_s,
            begun=begun[number],
            ended=dict(ended.get(number, {})),
            first_s=_spread(firsts.get(number, ())),
            whole_s=_spread(wholes.get(number, ())),
        )
        for number in range(oldest, newest + 1)
    ]
    return Pulse(now=now, slot_s=slot_s, since=since, slots=rows)


def _spread(times: Sequence[float]) -> Spread | None:
    if not times:
        return None
    ranked = sorted(max(0.0, one) for one in times)
    return Spread(p50=_rank(ranked, 0.5), p95=_rank(ranked, 0.95))


def _rank(ranked: Sequence[float], share: float) -> float:
    return ranked[max(0, math.ceil(share * len(ranked)) - 1)]
