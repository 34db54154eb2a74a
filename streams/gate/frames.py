"""Putting an attempt's frames in order: repeated ones are dropped, early ones wait, a missing one is noticed.

Pure planning: `plan` looks at an answer and at newly arrived frames and says what they add, in journal entries' terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from streams.gate.entries import Llm
from streams.gate.release import MAX_JSON_BYTES_PER_CHAR
from streams.gate.state import Answer
from topics.records import ModelError, ModelFrame, ToolCallDelta
from topics.text import is_first_half, piece, well_formed
from topics.trusted import like

#: The kind of failure that ends an attempt whose call was found started and never finished.
INTERRUPTED = "CallInterruptedError"
#: Finish reasons are words; whatever is longer than this is none, and would burden every record it rides on.
_MAX_FINISH_CHARS = 200
#: More than the JSON around a frame's texts takes, and around a tool call's.
_OVERHEAD_BYTES = 64
_NOTHING_YET = Llm()
#: What a frame says beside its text, but for reasoning, of which nothing is made.
_BESIDE_TEXT = itemgetter("step", "attempt", "seq", "refusal", "tool_call_delta", "finish_reason", "usage", "error")


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a run of frames adds: `entries` to journal in order, then the attempt's end by `error`, if one came."""

    entries: tuple[Llm, ...] = ()
    error: ModelError | None = None


def plan(answer: Answer, frames: Sequence[ModelFrame], *, step: int, attempt: int, max_bytes: int) -> Arrival:
    """Return what `frames`, all of the current attempt, add to `answer`.

    One entry takes in as many frames as fit into about `max_bytes` of text, so that no journal record grows beyond what
    the broker takes; a single larger frame stays whole, since it fitted into a record before.
    """
    if answer.finish_reason is not None:
        return Arrival()
    if not answer.early and _is_next(frames, answer.next_seq):
        return Arrival(tuple(_entries(frames, answer, step=step, attempt=attempt, max_bytes=max_bytes)))
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
        entries += (
            Llm(step=step, attempt=attempt, early=tuple(group)) for group in _groups(early, max_bytes, _early_weight)
        )
    return Arrival(tuple(entries), None if finished else ended_by or error)


def text_alone(answer: Answer, frames: Sequence[ModelFrame], *, step: int, attempt: int, max_bytes: int) -> str | None:
    """Return the text of frames that are the awaited ones and bring text and nothing else, as nearly all do.

    None says that they may not be, or may not fit into one entry: then `plan` them.
    """
    if not frames or answer.early or answer.half is not None or answer.finish_reason is not None:
        return None
    seq = answer.next_seq
    text = ""
    for frame in frames:
        # The fields by themselves, and all of them in one look: to ask the model for each costs more than all else here.
        said = frame.__dict__
        if _BESIDE_TEXT(said) != (step, attempt, seq, None, None, None, None, None):
            return None
        seq += 1
        text += said["text"] or ""
    if _OVERHEAD_BYTES * len(frames) + MAX_JSON_BYTES_PER_CHAR * len(text) > max_bytes:
        return None
    return text if text.isascii() or _is_whole(text) else None


def _is_whole(text: str) -> bool:
    """Return whether no half of a surrogate pair is in `text`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_next(frames: Sequence[ModelFrame], seq: int) -> bool:
    """Return whether `frames` are those awaited from `seq` on, up to the finish if it is among them: mostly, they are."""
    for frame in frames:
        if frame.seq != seq or frame.error is not None:
            return False
        seq += 1
    return not any(frame.finish_reason is not None for frame in frames[:-1])


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


def _entries(run: Sequence[ModelFrame], answer: Answer, *, step: int, attempt: int, max_bytes: int) -> Iterator[Llm]:
    seq = answer.next_seq
    half = answer.half
    for group in [run] if run and _surely_fit(run, max_bytes) else _groups(run, max_bytes, _weight):
        seq += len(group)
        last = group[-1]
        finish = _finish(last.finish_reason)
        text, half = _joined(group, half, ended=finish is not None)
        yield like(
            _NOTHING_YET,
            step=step,
            attempt=attempt,
            seq=seq,
            text=text,
            half=half,
            finish_reason=finish,
            **_beside_text(group, ended=finish is not None),
        )


def _beside_text(group: Sequence[ModelFrame], *, ended: bool) -> dict[str, Any]:
    """Return what frames bring that most do not. Halves of surrogate pairs are joined where this is collected."""
    found: dict[str, Any] = {}
    refusals: list[str] = []
    deltas: list[ToolCallDelta] = []
    for frame in group:
        if frame.usage is not None:
            found["usage"] = frame.usage
        if frame.refusal:
            refusals.append(frame.refusal)
        if frame.tool_call_delta is not None:
            deltas.append(_piece_of_call(frame.tool_call_delta, ended=ended and frame is group[-1]))
    if refusals:
        found["refusal"] = piece("".join(refusals), ended=ended)
    if deltas:
        found["tool_calls"] = tuple(deltas)
    return found


def _joined(group: Sequence[ModelFrame], half: int | None, *, ended: bool) -> tuple[str, int | None]:
    """Return the group's text with surrogate halves of neighbouring frames joined, and a half that still waits."""
    text = "".join([frame.text or "" for frame in group])
    if half is not None:
        text = chr(half) + text
    waiting: int | None = None
    if text and not ended and is_first_half(text[-1]):
        waiting = ord(text[-1])
        text = text[:-1]
    return str(well_formed(text)), waiting


def _finish(reason: str | None) -> str | None:
    return None if reason is None else str(well_formed(reason[:_MAX_FINISH_CHARS]))


def _piece_of_call(delta: ToolCallDelta, *, ended: bool) -> ToolCallDelta:
    arguments = delta.arguments and piece(delta.arguments, ended=ended)
    return like(delta, id=well_formed(delta.id), name=well_formed(delta.name), arguments=arguments)


def _needed(frame: ModelFrame) -> ModelFrame:
    """Return an early frame without what is never made use of, so that it does not burden the journal."""
    error = frame.error and frame.error.model_copy(update={"message": None})
    return frame.model_copy(update={"reasoning": None, "error": error, "finish_reason": _finish(frame.finish_reason)})


def _groups(
    frames: Iterable[ModelFrame], max_bytes: int, weigh: Callable[[ModelFrame], int]
) -> Iterator[Sequence[ModelFrame]]:
    group: list[ModelFrame] = []
    size = 0
    for frame in frames:
        weight = weigh(frame)
        if group and size + weight > max_bytes:
            yield group
            group, size = [], 0
        group.append(frame)
        size += weight
    if group:
        yield group


def _surely_fit(run: Sequence[ModelFrame], max_bytes: int) -> bool:
    """Return whether frames make one group without a doubt, as nearly all do: a look at their lengths is enough."""
    if len(run) == 1:
        return True
    chars = len(run[-1].finish_reason or "")
    for frame in run:
        if frame.refusal is not None or frame.tool_call_delta is not None:
            return False
        chars += len(frame.text or "")
    return _OVERHEAD_BYTES * len(run) + MAX_JSON_BYTES_PER_CHAR * chars <= max_bytes


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
    return sum(len(text) * (1 if _is_spelt_as_it_is(text) else MAX_JSON_BYTES_PER_CHAR) for text in texts if text)


def _is_spelt_as_it_is(text: str) -> bool:
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text
