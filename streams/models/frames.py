"""Pieces of output as records: each delta one `ModelFrame`, unless it is too large for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streams.models.delta import Delta
from streams.models.errors import CallInterruptedError
from topics.records import CallRecord, ModelFrame, ToolCallDelta

#: The most characters one frame carries. JSON spells one character in at most twelve bytes, so that such a frame stays
#: well below a broker's limit of 1 MB for one record.
MAX_FRAME_CHARS = 50_000
#: How a call ends that was found started and never finished.
INTERRUPTED = Delta.failed(
    CallInterruptedError("the model runner that had started this call ended before the call did")
)


def frame_of(call: CallRecord, seq: int | None, delta: Delta) -> ModelFrame:
    """Return `delta` as the frame number `seq` of the attempt that `call` names."""
    return ModelFrame(
        tenant=call.tenant,
        thread_id=call.thread_id,
        turn_id=call.turn_id,
        step=call.step,
        attempt=call.attempt,
        seq=seq,
        text=delta.text,
        reasoning=delta.reasoning,
        refusal=delta.refusal,
        tool_call_delta=delta.tool_call_delta,
        finish_reason=delta.finish_reason,
        usage=delta.usage,
        error=delta.error,
    )


def interrupted_frame(call: CallRecord) -> ModelFrame:
    """Return the frame by which a runner reports a call that it found started and never finished."""
    return frame_of(call, None, INTERRUPTED)


def split(delta: Delta, limit: int = MAX_FRAME_CHARS) -> Iterator[Delta]:
    """Yield `delta`, or, if it carries more than `limit` characters, pieces of it that together say the same.

    A finish, usage or error comes with the last piece.
    """
    tool = delta.tool_call_delta
    arguments = tool.arguments if tool else None
    if sum(len(value) for value in (delta.text, delta.reasoning, delta.refusal, arguments) if value) <= limit:
        yield delta
        return
    pieces: list[Delta] = []
    pieces += (Delta(reasoning=piece) for piece in _cut(delta.reasoning, limit))
    pieces += (Delta(text=piece) for piece in _cut(delta.text, limit))
    pieces += (Delta(refusal=piece) for piece in _cut(delta.refusal, limit))
    if tool:
        pieces += (Delta(tool_call_delta=piece) for piece in _cut_call(tool, limit))
    yield from pieces[:-1]
    yield replace(pieces[-1], finish_reason=delta.finish_reason, usage=delta.usage, error=delta.error)


def _cut(value: str | None, limit: int) -> Iterator[str]:
    text = value or ""
    return (text[start : start + limit] for start in range(0, len(text), limit))


def _cut_call(tool: ToolCallDelta, limit: int) -> Iterator[ToolCallDelta]:
    """Cut a tool call's arguments; only the first piece names the call."""
    pieces = list(_cut(tool.arguments, limit))
    yield tool.model_copy(update={"arguments": pieces[0]} if pieces else {})
    for arguments in pieces[1:]:
        yield ToolCallDelta(index=tool.index, arguments=arguments)
