"""What happened to the latest turns, and when: no text, unless the operator wants to be shown what models write.

A trace is put together from records of several topics, which come in no order. It is for people who watch: what readers get
never depends on it, and of a busy gateway it holds the latest turns only.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from topics.ids import TurnKey
from topics.records import TERMINAL_KINDS, Decision, ModelFrame, ReleasedFrame, TextFrame, UsageRecord

#: What is kept of one turn at most: decisions, and releases, of which neighbours are then added up.
_MAX_DECISIONS = 400
_MAX_RELEASES = 128
#: Of how many turns the text of models is kept, and how much of each call, in code points.
_MAX_SHOWN = 200
_MAX_SHOWN_CHARS = 20_000
#: How many counts of processors are kept: one for each tenant and processor.
_MAX_COUNTED = 10_000

#: A step of a turn, and an attempt of it.
Attempt = tuple[int, int]
#: What is read of models' frames: nothing, how long they are, or their text too.
Watch = Literal["off", "count", "show"]


class Release(NamedTuple):
    """Text of so many code points was released `at` (epoch seconds); `chars` 0 is a reset."""

    at: float
    step: int
    attempt: int
    chars: int


@dataclass(slots=True)
class Call:
    """What a model has written of one attempt; `chars` in code points, reasoning and tool calls left out.

    `whole` says that its first frame was seen: without that, `chars` is too few.
    """

    first_at: float
    last_at: float
    whole: bool = True
    chars: int = 0
    frames: int = 0
    seq: int = -1
    finished: bool = False
    text: list[str] = field(default_factory=list)
    kept: int = 0


@dataclass(slots=True)
class Trace:
    """What is known of one turn. Times are epoch seconds; `whole` says that nothing came before what is known."""

    turn: TurnKey
    whole: bool
    asked_at: float | None = None
    decisions: list[Decision] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)
    released: dict[Attempt, int] = field(default_factory=dict)
    calls: dict[Attempt, Call] = field(default_factory=dict)
    usage: dict[str, UsageRecord] = field(default_factory=dict)
    first_text_at: float | None = None
    ended_at: float | None = None
    outcome: str | None = None

    @property
    def began_at(self) -> float | None:
        """When the first thing happened that is known of it."""
        known = [one.at - one.time_ms / 1000 for one in self.decisions]
        known += [call.first_at for call in self.calls.values()]
        known += [one for one in (self.asked_at, self.first_text_at, self.ended_at) if one is not None]
        return min(known, default=None)


class Tally(Counter[str]):
    """How often a processor said what, by verdict; `runs` is how often it said anything, `changes` what it rewrote."""


class Traces:
    """The traces of the latest `max_turns` turns. `since` is from when on everything is read, in epoch seconds.

    `ended` is told of each turn's end. A turn that may have begun before `since` is not `whole`; none is open for longer
    than `longest_turn_s`.
    """

    def __init__(
        self,
        *,
        since: float,
        longest_turn_s: float,
        watch: Watch = "off",
        max_turns: int = 2_000,
        ended: Callable[[Trace], None] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ended = ended
        self.watch: Watch = watch
        self.since = since
        self._longest_turn_s = longest_turn_s
        self._covered_since = since
        self._max_turns = max_turns
        self._clock = clock
        self._traces: OrderedDict[TurnKey, Trace] = OrderedDict()
        self._shown: OrderedDict[TurnKey, None] = OrderedDict()
        self._tallies: OrderedDict[tuple[str, str, str], Tally] = OrderedDict()

    def now(self) -> float:
        """Return the time by which traces are kept, in epoch seconds."""
        return self._clock()

    def get(self, turn: TurnKey) -> Trace | None:
        """Return what is known of `turn`."""
        return self._traces.get(turn)

    def tally(self, tenant: str, phase: str, processor: str) -> Tally:
        """Return what a processor said about turns of `tenant`, as far as it is known here."""
        return self._tallies.get((tenant, phase, processor)) or Tally()

    # -- what happens -------------------------------------------------------------------------------------------------

    def asked(self, turn: TurnKey, *, new: bool) -> None:
        """Take in that `turn` is about to be submitted; `new` if its id cannot have been submitted before."""
        if turn in self._traces:
            return
        now = self._clock()
        trace = self._trace(turn, now)
        trace.whole = trace.whole or new
        if new:
            trace.asked_at = now

    def take_decision(self, decision: Decision) -> None:
        """Take in what a processor decided, but for its own words: they may hold content."""
        bare = decision.model_copy(update={"reason": None, "metadata": None})
        trace = self._trace(bare.turn, bare.at)
        # It is written at least once.
        if bare in trace.decisions or len(trace.decisions) >= _MAX_DECISIONS:
            return
        trace.decisions.append(bare)
        key = (bare.tenant, bare.phase, bare.processor)
        tally = self._tallies.setdefault(key, Tally())
        self._tallies.move_to_end(key)
        tally.update({bare.verdict: 1, "runs": 1, "changes": bare.changes})
        if len(self._tallies) > _MAX_COUNTED:
            self._tallies.popitem(last=False)

    def take_usage(self, usage: UsageRecord) -> None:
        """Take in what a call cost."""
        trace = self._trace(usage.turn, usage.at)
        if len(trace.usage) < _MAX_DECISIONS:
            trace.usage[usage.id] = usage

    def take_released(self, frame: ReleasedFrame, at: float) -> None:
        """Take in a frame that was released `at`."""
        trace = self._trace(frame.turn, at)
        if frame.kind in TERMINAL_KINDS:
            if trace.ended_at is None:
                trace.ended_at, trace.outcome = at, frame.kind
                if self._ended is not None:
                    self._ended(trace)
            return
        key = (frame.step, frame.attempt)
        had = trace.released.get(key)
        if isinstance(frame, TextFrame):
            end = frame.offset + len(frame.text)
            new = end - (had or 0)
            if new <= 0:
                return
            trace.first_text_at = at if trace.first_text_at is None else trace.first_text_at
        elif frame.kind == "reset" and had is None:
            end = new = 0
        else:
            return
        trace.released[key] = end
        _add(trace.releases, Release(at, *key, new))

    def take_written(self, frame: ModelFrame, at: float) -> None:
        """Take in a frame that a model wrote `at`."""
        trace = self._trace(frame.turn, at)
        call = trace.calls.get((frame.step, frame.attempt))
        if call is None:
            if len(trace.calls) >= _MAX_DECISIONS:
                return
            call = trace.calls[frame.step, frame.attempt] = Call(at, at, whole=not frame.seq)
        if frame.seq is None or frame.seq <= call.seq:
            return  # it came before
        text = (frame.text or "") + (frame.refusal or "")
        call.seq, call.last_at = frame.seq, at
        call.frames += 1
        call.chars += len(text)
        call.finished = call.finished or frame.finish_reason is not None or frame.error is not None
        if self.watch == "show" and text:
            self._keep(frame.turn, call, text)

    def _keep(self, turn: TurnKey, call: Call, text: str) -> None:
        if call.kept < _MAX_SHOWN_CHARS:
            call.text.append(text[: _MAX_SHOWN_CHARS - call.kept])
            call.kept += len(call.text[-1])
        self._shown[turn] = None
        self._shown.move_to_end(turn)
        if len(self._shown) > _MAX_SHOWN:
            oldest, _ = self._shown.popitem(last=False)
            lost = self._traces.get(oldest)
            for other in lost.calls.values() if lost is not None else ():
                other.text.clear()

    def _trace(self, turn: TurnKey, at: float) -> Trace:
        trace = self._traces.get(turn)
        if trace is None:
            trace = self._traces[turn] = Trace(turn, whole=at - self._covered_since > self._longest_turn_s)
        self._traces.move_to_end(turn)
        if len(self._traces) > self._max_turns:
            gone, lost = self._traces.popitem(last=False)
            self._shown.pop(gone, None)
            if lost.ended_at is None:
                # What comes of it from now on is not its beginning.
                self._covered_since = self._clock()
        return trace


def _add(releases: list[Release], new: Release) -> None:
    """Add a release; of very many, each two neighbours of an attempt become one, at the time by which both were out."""
    releases.append(new)
    if len(releases) <= _MAX_RELEASES:
        return
    fewer: list[Release] = []
    joinable = False
    for one in releases:
        last = fewer[-1] if fewer else None
        if joinable and last is not None and one.chars and last[1:3] == one[1:3]:
            fewer[-1] = one._replace(chars=last.chars + one.chars)
            joinable = False
        else:
            fewer.append(one)
            joinable = one.chars > 0
    releases[:] = fewer[-_MAX_RELEASES:]
