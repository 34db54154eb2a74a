"""Putting an attempt's frames in order: repeated ones are dropped, early ones wait, a missing one is noticed.

Pure planning: `plan` looks at an answer and at newly arrived frames and says what they add, in journal entries' terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streams.gate.entries import Llm
from streams.gate.state import Answer
from topics.records import ModelError, ModelFrame, ToolCallDelta
from topics.text import well_formed

#: The kind of failure that ends an attempt whose call was found started and never finished.
INTERRUPTED = "CallInterruptedError"


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a run of frames adds: `entries` to journal in order, then the attempt's end by `error`, if one came."""

    entries: tuple[Llm, ...] = ()
    error: ModelError | None = None


def plan(answer: Answer, frames: Iterable[ModelFrame], *, step: int, attempt: int, max_bytes: int) -> Arrival:
    """Return what `frames`, all of the current attempt, add to `answer`.

    One entry takes in as many frames as fit into about `max_bytes` of text, so that no journal record grows beyond what
    the broker takes; a single larger frame stays whole, since it fitted into a record before.
    """
    if answer.finish_reason is not None:
        return Arrival()
    fresh: dict[int, ModelFrame] = {}
    error: ModelError | None = None
    for frame in frames:
        if frame.seq is None:
            error = frame.error or ModelError(type=INTERRUPTED, retryable=True)
        elif frame.seq >= answer.next_seq and frame.seq not in answer.early:
            fresh.setdefault(frame.seq, frame)
    pending = {**answer.early, **fresh}
    run, ended_by = _in_order(pending, answer.next_seq)
    entries = list(_entries(run, answer, step=step, attempt=attempt, max_bytes=max_bytes))
    taken = answer.next_seq + len(run)
    finished = bool(run) and run[-1].finish_reason is not None
    if ended_by is None and not finished:
        early = (frame for seq, frame in sorted(fresh.items()) if seq >= taken)
        entries += (Llm(step=step, attempt=attempt, early=group) for group in _groups(early, max_bytes))
    return Arrival(tuple(entries), None if finished else ended_by or error)


def _in_order(pending: dict[int, ModelFrame], seq: int) -> tuple[list[ModelFrame], ModelError | None]:
    """Return the frames from `seq` on without a gap, up to the finish or, without it, the first error frame."""
    run: list[ModelFrame] = []
    while (frame := pending.get(seq)) is not None:
        if frame.error is not None:
            return run, frame.error
        run.append(frame)
        if frame.finish_reason is not None:
            break
        seq += 1
    return run, None


def _entries(run: list[ModelFrame], answer: Answer, *, step: int, attempt: int, max_bytes: int) -> Iterator[Llm]:
    seq = answer.next_seq
    half = answer.half
    for group in _groups(run, max_bytes):
        seq += len(group)
        last = group[-1]
        finish = last.finish_reason
        text, half = _joined(group, half, ended=finish is not None)
        yield Llm(
            step=step,
            attempt=attempt,
            seq=seq,
            text=text,
            half=half,
            finish_reason=finish,
            usage=next((frame.usage for frame in reversed(group) if frame.usage is not None), None),
            refusal=str(well_formed("".join(frame.refusal or "" for frame in group))),
            tool_calls=tuple(_well_formed_delta(frame.tool_call_delta) for frame in group if frame.tool_call_delta),
        )


def _joined(group: tuple[ModelFrame, ...], half: int | None, *, ended: bool) -> tuple[str, int | None]:
    """Return the group's text with surrogate halves of neighbouring frames joined, and a half that still waits."""
    text = (chr(half) if half is not None else "") + "".join(frame.text or "" for frame in group)
    waiting: int | None = None
    if text and not ended and "\ud800" <= text[-1] <= "\udbff":
        waiting = ord(text[-1])
        text = text[:-1]
    return str(well_formed(text)), waiting


def _well_formed_delta(delta: ToolCallDelta) -> ToolCallDelta:
    if delta.arguments is None or delta.arguments.isascii():
        return delta
    return delta.model_copy(update={"arguments": well_formed(delta.arguments)})


def _groups(frames: Iterable[ModelFrame], max_bytes: int) -> Iterator[tuple[ModelFrame, ...]]:
    group: list[ModelFrame] = []
    size = 0
    for frame in frames:
        weight = _weight(frame)
        if group and size + weight > max_bytes:
            yield tuple(group)
            group, size = [], 0
        group.append(frame)
        size += weight
    if group:
        yield tuple(group)


def _weight(frame: ModelFrame) -> int:
    """A bound on the bytes that the frame's content takes in JSON: escapes spell one character with up to six."""
    content = (frame.text or "", frame.refusal or "", (frame.tool_call_delta and frame.tool_call_delta.arguments) or "")
    return sum(len(text) if text.isascii() and text.isprintable() else 6 * len(text) for text in content) + 64
