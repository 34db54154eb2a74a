"""How much later text is readable than it was written: one turn worker beside others that put records on another topic.

Run it as `python -m bench.latency [--broker embedded|apache|host:port] [--rounds N] [--quick]`. Frames of 200 open turns are
written at 500 and at 5,000 a second. A turn speaks for ten seconds; they end one after the other, and where one ends
another one begins, which the turn worker was asked for a moment before. The added time of a character is the time at which
a reader had it minus the time at which its frame was handed to the producer, on one clock; medians and 99th percentiles are
over all characters but those of the first second. A broker that has just started is slow for everybody, so everybody runs
once before it counts.

A redactor holds text back while it may still become part of a finding, until the turn's next frame: that is a property of
the text (`python -m bench.gate` shows how much), so here each frame ends in a plain word and a space, of which nothing is
held, and a frame's characters are those of one release. What is measured is the way and not the wait.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import orjson
from aiokafka import AIOKafkaProducer

from bench import hops, load, workers
from bench.figures import Measure
from bench.frames import Frame, steady
from bench.groups import alone
from bench.hops import Hop
from bench.rounds import Contender, FailedError, Findings, Setting, Values, side_by_side
from topics.client import TurnClient
from topics.ids import TurnKey

GROUP = "latency"
BASE = hops.AIOKAFKA.name
RATES = (500, 5_000)
#: The highest rate at which those take part that cannot keep up with more.
SLOW_UP_TO = 500
TURNS, SECONDS, WARM_UP_S = 200, 10.0, 1.0
#: How long a turn speaks, and how long before it is asked for, in seconds.
TURN_S, AHEAD_S = 10.0, 1.0
QUICK_TURNS, QUICK_SECONDS, QUICK_WARM_UP_S = 20, 1.0, 0.2
WORDS = "people see most of an answer at once while a model still writes the rest of it " * 100
#: Whoever writes without a pause lets others have their turn after so many frames.
_BREATH = 50
#: A reader that asks often, because the embedded broker does not wake a waiting fetch when a record comes.
_FETCH_WAIT_MS = 5

#: When it was read, in seconds, and a record's value.
Read: TypeAlias = tuple[float, bytes]


@dataclass(slots=True)
class Written:
    """When each frame was handed to the producer; positions are those of a turn's text, in characters."""

    warm_from: float = 0.0
    #: Of each thread, where its frames end in its text, and when each was written.
    ends: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def note(self, frame: Frame, at: float) -> None:
        """Note a frame, which follows the one noted before of its turn."""
        ends = self.ends[frame.turn.thread_id]
        ends.append((ends[-1] if ends else 0) + len(frame.text))
        self.times[frame.turn.thread_id].append(at)

    def added(self, thread: str, start: int, length: int, at: float) -> list[tuple[float, int]]:
        """Return the added times of what became readable at `at`, each with the number of its characters."""
        found = []
        ends, times = self.ends[thread], self.times[thread]
        end = start + length
        for number in range(bisect_right(ends, start), len(ends)):
            chars = min(ends[number], end) - start
            if times[number] >= self.warm_from:
                found.append((at - times[number], chars))
            start += chars
            if start >= end:
                break
        return found


def forwarded(written: Written, reads: Iterable[Read]) -> list[tuple[float, int]]:
    """Return the added times of a program that puts on the same frames that it takes."""
    found = []
    for at, value in reads:
        frame = orjson.loads(value)
        length = len(frame["text"])
        found += written.added(frame["thread_id"], written.ends[frame["thread_id"]][frame["seq"]] - length, length, at)
    return found


def released(written: Written, reads: Iterable[Read]) -> list[tuple[float, int]]:
    """Return the added times of a turn worker, which releases text at its place in the answer."""
    found = []
    for at, value in reads:
        frame = orjson.loads(value)
        if frame["kind"] == "text":
            found += written.added(frame["thread_id"], frame["offset"], len(frame["text"]), at)
    return found


def quantile(weighted: Iterable[tuple[float, int]], share: float) -> float:
    """Return the time that `share` of all characters do not exceed. Raises `FailedError` where there are none."""
    ordered = sorted(weighted)
    wanted = share * sum(chars for _, chars in ordered)
    passed = 0
    for added, chars in ordered:
        passed += chars
        if passed >= wanted:
            return added
    raise FailedError("no text was read after the first second")


@dataclass(frozen=True, slots=True)
class Pace:
    """Frames a second, of how many turns, for how many seconds, and how many of those do not count."""

    rate: int
    turns: int = TURNS
    seconds: float = SECONDS
    warm_up_s: float = WARM_UP_S

    def frames(self) -> list[Frame]:
        """Return the frames in the order in which they are written."""
        return list(steady(self.turns, round(self.rate * self.seconds), round(self.rate * TURN_S / self.turns), WORDS))

    def begins(self, frames: Sequence[Frame]) -> list[tuple[float, TurnKey]]:
        """Return when each turn has its first frame, in seconds from the first of all."""
        return [(number / self.rate, frame.turn) for number, frame in enumerate(frames) if frame.seq == 0]

    def values(self, found: Sequence[tuple[float, int]], records: int, frames: int) -> Values:
        """Return the figures of one measurement: `found` are added times, `records` is how many texts were read."""
        at = f", {self.rate:,} frames/s"
        return {
            Measure(f"added time, median{at}", "ms", "less"): quantile(found, 0.5) * 1_000,
            Measure(f"added time, 99th percentile{at}", "ms", "less"): quantile(found, 0.99) * 1_000,
            Measure(f"texts per 100 frames{at}", "records", "neither"): records / frames * 100,
        }


async def write(producer: AIOKafkaProducer, topic: str, frames: Sequence[Frame], pace: Pace) -> Written:
    """Write frames at a pace, and return when each was handed over. One that is late is written at once."""
    began = time.perf_counter()
    written = Written(began + pace.warm_up_s)
    sent = []
    for number, frame in enumerate(frames):
        due = began + number / pace.rate
        wait = due - time.perf_counter()
        if wait > 0 or number % _BREATH == 0:
            await asyncio.sleep(max(0.0, wait))
        written.note(frame, time.perf_counter())
        sent.append(await producer.send(topic, frame.value, key=frame.key, partition=frame.partition))
    await asyncio.gather(*sent)
    return written


async def through_hop(hop: Hop, bootstrap: str, pace: Pace) -> Values:
    """Measure a program that forwards frames."""
    frames = pace.frames()
    async with hops.opened(hop, bootstrap) as through, load.reading(bootstrap, through.sink, _FETCH_WAIT_MS) as reader:
        writing = asyncio.create_task(write(through.producer, through.source, frames, pace))
        reads: list[Read] = []
        # Those that showed that it runs are read again, and do not count.
        probes = len(hops.probe_frames())
        await load.wait_for(reader, len(frames) + probes, through.process, partial(_note, reads, lambda _: 1))
        written = await writing
    return pace.values(forwarded(written, reads[probes:]), len(frames), len(frames))


async def ask(client: TurnClient, begins: Iterable[tuple[float, TurnKey]]) -> None:
    """Submit turns, each a moment before its first frame."""
    began = time.perf_counter()
    for at, turn in begins:
        await asyncio.sleep(began + at - AHEAD_S - time.perf_counter())
        await client.submit("go", thread_id=turn.thread_id, turn_id=turn.turn_id)


async def through_worker(bootstrap: str, deps: str | None, pace: Pace) -> Values:
    """Measure a turn worker with a chain."""
    frames = pace.frames()
    begins = pace.begins(frames)
    first = [turn for at, turn in begins if at <= AHEAD_S]
    async with workers.worker(bootstrap, deps) as ours, load.producing(bootstrap) as producer:
        await ours.open_turns(first)
        async with load.reading(bootstrap, ours.released, _FETCH_WAIT_MS) as reader:
            asking = asyncio.create_task(ask(ours.client, begins[len(first) :]))
            writing = asyncio.create_task(write(producer, ours.frames, frames, pace))
            reads: list[Read] = []
            chars = sum(len(frame.text) for frame in frames)
            await load.wait_for(reader, chars, ours.process, partial(_note, reads, _chars))
            await asking
            written = await writing
    texts = sum(b'"kind":"text"' in value for _, value in reads)
    return pace.values(released(written, reads), texts, len(frames))


def contenders(setting: Setting, rate: int) -> list[Contender]:
    """Return who takes part at a rate."""
    pace = Pace(rate, QUICK_TURNS, QUICK_SECONDS, QUICK_WARM_UP_S) if setting.quick else Pace(rate)

    def hop(which: Hop, *, peer: bool = True) -> Contender:
        return Contender(which.name, partial(through_hop, which, setting.bootstrap, pace), BASE, peer)

    slow = [hop(hops.FAUST_TABLE)] if rate <= SLOW_UP_TO else []
    ours = partial(through_worker, setting.bootstrap, workers.SCANNING_DEPS, pace)
    return [hop(hops.AIOKAFKA, peer=False), hop(hops.QUIX), *slow, Contender(workers.SCANNING, ours, BASE)]


async def measure(setting: Setting) -> Findings:
    """Measure every contender at each rate, round after round."""
    found = Findings()
    if not setting.quick:
        await side_by_side(GROUP, contenders(setting, RATES[0]), replace(setting, rounds=1))
    for rate in RATES:
        found.add(await side_by_side(GROUP, contenders(setting, rate), setting))
    return found


def _chars(value: bytes) -> int:
    """Return how many characters a released record has; nothing of these frames is held, so all of them come out.

    Raises:
        FailedError: its turn failed.
    """
    return 0 if workers.ends(value) or b'"kind":"text"' not in value else len(orjson.loads(value)["text"])


def _note(reads: list[Read], counts: Any, record: Any) -> int:
    reads.append((time.perf_counter(), record.value))
    return int(counts(record.value))


if __name__ == "__main__":
    alone(GROUP)
