"""The course of a turn as it goes over HTTP: what ran when, how much was written and released, and no text."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from streams.gateway.held import Held
from streams.gateway.ids import public_id
from streams.gateway.shapes import State, state_of
from streams.gateway.traces import Attempt, Call, Trace
from topics.content import Usage
from topics.records import Decision, Phase, UsageRecord


class Ran(BaseModel):
    """One processor, from `start` to `end`; its own words are not here."""

    phase: Phase
    step: int
    attempt: int
    processor: str
    version: str
    verdict: str
    changes: int
    error: str | None = None
    start: float
    end: float


class Wrote(BaseModel):
    """One attempt of a step's model call.

    `start` and `end` are those of the model's frames, and `chars` and `frames` are what it has written, where `counted`. A
    gateway that does not read models' frames tells when the prompt was ready, and when the answer's end was taken in.
    """

    step: int
    attempt: int
    counted: bool
    finished: bool
    start: float | None = None
    end: float | None = None
    chars: int | None = None
    frames: int | None = None
    released: int = Field(description="code points of it that are out")
    model: str | None = None
    usage: Usage | None = None
    estimated: bool | None = None
    outcome: str | None = None


class Out(BaseModel):
    """Text of so many code points that was released at a time; 0 where a step's text was taken back."""

    at: float
    step: int
    attempt: int
    chars: int


class Timeline(BaseModel):
    """What this gateway knows of the course of a turn; times are epoch seconds, `now` is this gateway's.

    `whole` says that nothing came before what is told. `held` is how many code points of the current answer the model has
    written that are not out, None where the gateway is not to count them; a chain that makes an answer shorter makes it
    look as if the rest were held.
    """

    id: str
    state: State
    whole: bool
    now: float
    began_at: float | None = None
    first_text_at: float | None = None
    ended_at: float | None = None
    held: int | None = None
    ran: list[Ran]
    wrote: list[Wrote]
    out: list[Out]


class Written(BaseModel):
    """What a model has written of one attempt, as it is: no control has passed it."""

    step: int
    attempt: int
    text: str
    complete: bool = Field(description="whether this is all of it")


class WrittenList(BaseModel):
    """What models have written of a turn, as far as it is kept."""

    written: list[Written]


class Own(BaseModel):
    """What a key may do: `frames` is what this gateway reads of what models write, and shows to operators' keys."""

    name: str
    tenant: str
    user: str | None = None
    operator: bool
    frames: Literal["off", "count", "show"]


def timeline(held: Held, trace: Trace | None, now: float) -> Timeline:
    """Return the course of a turn of which `held` was released, at `now` (epoch seconds)."""
    state = state_of(held)
    if trace is None:
        trace = Trace(held.view.turn, whole=False, asked_at=held.began_at)
    closed = held.view.terminal is not None
    ran = sorted((_ran(one) for one in trace.decisions), key=lambda one: (one.start, one.end))
    attempts = {*trace.calls, *trace.released, *(key for one in trace.usage.values() if (key := _call_of(one)))}
    if not closed and trace.asked_at is not None and not attempts and _ready(ran, (0, 0)) is not None:
        attempts.add((0, 0))
    wrote = [_wrote(key, trace, ran) for key in sorted(attempts)]
    last = wrote[-1] if wrote else None
    return Timeline(
        id=public_id(held.view.turn),
        state=state if closed or state == "contradicted" or trace.began_at is None else "running",
        whole=trace.whole,
        now=now,
        began_at=trace.began_at or held.began_at,
        first_text_at=trace.first_text_at,
        ended_at=trace.ended_at or (held.changed_at if closed else None),
        held=None if last is None or closed or last.chars is None else max(0, last.chars - last.released),
        ran=ran,
        wrote=wrote,
        out=[Out(at=one.at, step=one.step, attempt=one.attempt, chars=one.chars) for one in trace.releases],
    )


def written(trace: Trace | None) -> WrittenList:
    """Return the text that models have written of a turn."""
    calls = trace.calls if trace is not None else {}
    return WrittenList(written=[_written(key, call) for key, call in sorted(calls.items())])


def _written(key: Attempt, call: Call) -> Written:
    # A frame may end in half of a character.
    text = "".join(call.text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Written(step=key[0], attempt=key[1], text=text, complete=call.whole and call.kept == call.chars)


def _ran(one: Decision) -> Ran:
    return Ran(
        phase=one.phase,
        step=one.step,
        attempt=one.attempt,
        processor=one.processor,
        version=one.version,
        verdict=one.verdict,
        changes=one.changes,
        error=one.error,
        start=one.at - one.time_ms / 1000,
        end=one.at,
    )


def _call_of(usage: UsageRecord) -> Attempt | None:
    return None if usage.processor is not None else (usage.step, usage.attempt)


def _wrote(key: Attempt, trace: Trace, ran: list[Ran]) -> Wrote:
    step, attempt = key
    call = trace.calls.get(key)
    usage = next((one for one in trace.usage.values() if _call_of(one) == key), None)
    counted = call is not None and call.whole
    start, end = (call.first_at, call.last_at) if call is not None and counted else (_ready(ran, key), None)
    if not counted and usage is not None:
        end = usage.at
    return Wrote(
        step=step,
        attempt=attempt,
        counted=counted,
        finished=usage is not None or (call is not None and call.finished),
        start=start,
        end=end,
        chars=call.chars if call is not None and counted else None,
        frames=call.frames if call is not None and counted else None,
        released=trace.released.get(key, 0),
        model=usage.model if usage is not None else None,
        usage=usage.usage if usage is not None else None,
        estimated=usage.estimated if usage is not None else None,
        outcome=usage.outcome if usage is not None else None,
    )


def _ready(ran: list[Ran], key: Attempt) -> float | None:
    """Return when the prompt of an attempt was ready, as far as processors' ends tell."""
    before = [one.end for one in ran if one.phase in {"governance", "pre"} and key[0] == 0]
    before += [one.end for one in ran if one.phase == "input" and one.step == key[0]]
    return max(before, default=None)
