"""Putting an attempt's frames in order: repeated ones are dropped, early ones wait, a missing one is noticed.

Pure planning: `plan` looks at an answer and at newly arrived frames and says what they add, in journal entries' terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from streams.gate.entries import Llm
from streams.gate.state import Answer
from topics.records import ModelError, ModelFrame, ToolCallDelta
from topics.text import well_formed

#: The kind of failure that ends an attempt whose call was found started and never finished.
INTERRUPTED = "CallInterruptedError"
#: Finish reasons are words; whatever is longer than this is none, and would burden every record it rides on.
_MAX_FINISH_CHARS = 200
#: More than the JSON around a frame's texts takes, and around a tool call's.
_OVERHEAD_BYTES = 64


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
        early = (_needed(frame) for seq, frame in sorted(fresh.items()) if seq >= taken)
        entries += (Llm(step=step, attempt=attempt, early=group) for group in _groups(early, max_bytes, _early_weight))
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
    for group in _groups(run, max_bytes, _weight):
        seq += len(group)
        last = group[-1]
        finish = _finish(last.finish_reason)
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


def _finish(reason: str | None) -> str | None:
    return None if reason is None else str(well_formed(reason[:_MAX_FINISH_CHARS]))


def _well_formed_delta(delta: ToolCallDelta) -> ToolCallDelta:
    fields = {"id": delta.id, "name": delta.name, "arguments": delta.arguments}
    if all(text is None or text.isascii() for text in fields.values()):
        return delta
    return delta.model_copy(update={name: well_formed(text) for name, text in fields.items()})


def _needed(frame: ModelFrame) -> ModelFrame:
    """Return an early frame without what is never made use of, so that it does not burden the journal."""
    error = frame.error and frame.error.model_copy(update={"message": None})
    return frame.model_copy(update={"reasoning": None, "error": error, "finish_reason": _finish(frame.finish_reason)})


def _groups(
    frames: Iterable[ModelFrame], max_bytes: int, weigh: Callable[[ModelFrame], int]
) -> Iterator[tuple[ModelFrame, ...]]:
    group: list[ModelFrame] = []
    size = 0
    for frame in frames:
        weight = weigh(frame)
        if group and size + weight > max_bytes:
            yield tuple(group)
            group, size = [], 0
        group.append(frame)
        size += weight
    if group:
        yield tuple(group)


def _weight(frame: ModelFrame) -> int:
    """A bound on the bytes of JSON that what a frame brings takes in the journal."""
    delta = frame.tool_call_delta
    weight = _OVERHEAD_BYTES + _json_bytes(frame.text, frame.refusal, frame.finish_reason)
    return weight + _OVERHEAD_BYTES + _json_bytes(delta.id, delta.name, delta.arguments) if delta else weight


def _early_weight(frame: ModelFrame) -> int:
    """The same for a frame that waits, and so is journaled as it is."""
    error = frame.error.type if frame.error else None
    return _weight(frame) + 4 * _OVERHEAD_BYTES + _json_bytes(frame.tenant, frame.thread_id, frame.turn_id, error)


def _json_bytes(*texts: str | None) -> int:
    """A bound on their bytes: one character is spelt with up to six."""
    return sum(len(text) * (1 if _is_spelt_as_it_is(text) else 6) for text in texts if text)


def _is_spelt_as_it_is(text: str) -> bool:
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text
