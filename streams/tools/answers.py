"""What a tool call comes to, and how that is said to the model: in the tool's own words only where it answered.

A model is told the class of what went wrong and what follows from it. An exception's message or traceback may hold what
nobody meant for a model, a password in an address say: it goes neither there nor into the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from topics import codec
from topics.records import CallRecord, ToolResult

#: The longest result, in bytes of its record: far below the broker's limit, and more than a model should read at once.
MAX_RESULT_BYTES = 256 * 1024
#: The most characters of an error.
_MAX_ERROR_CHARS = 2000
_UNSURE = "it may or may not have taken effect"

Outcome: TypeAlias = Literal["answered", "failed", "timed_out", "crashed", "cancelled", "refused", "interrupted"]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call came to: its `content`, or an `error` for the model, whose kind is the class name `failure`."""

    outcome: Outcome
    content: str | None = None
    failure: str | None = None
    error: str | None = None


def _failed(outcome: Outcome, failure: str, what: str) -> ToolAnswer:
    return ToolAnswer(outcome, failure=failure, error=f"{failure}: {what}"[:_MAX_ERROR_CHARS])


#: The call was found started and never finished.
INTERRUPTED = _failed("interrupted", "ToolInterruptedError", f"interrupted: {_UNSURE}")
#: The process that ran the tool ended, because of this call or of another one in it.
CRASHED = _failed("crashed", "ToolCrashedError", f"the process that ran the tool ended: {_UNSURE}")
CANCELLED = _failed("cancelled", "ToolCancelledError", f"the turn worker cancelled the call: {_UNSURE}")
UNKNOWN = _failed("refused", "UnknownToolError", "there is no tool of this name")
TOO_LATE = _failed(
    "refused", "TurnTimeoutError", "the turn's time was over before the tool was called: it was not called"
)


def answered(content: str) -> ToolAnswer:
    """Return the answer of a tool that has spoken."""
    return ToolAnswer("answered", content)


def threw(failure: str) -> ToolAnswer:
    """Return the answer of a tool that raised an exception of the class `failure`."""
    return failed(failure, f"the tool failed: {_UNSURE}")


def refused(failure: str, what: str) -> ToolAnswer:
    """Return the answer of a tool that was not called: `what` was wrong with the call is for the model alone."""
    return _failed("refused", failure, what)


def failed(failure: str, what: str) -> ToolAnswer:
    """Return the answer of a tool that was called in vain: `what` happened is for the model alone."""
    return _failed("failed", failure, what)


def timed_out(limit_s: float) -> ToolAnswer:
    """Return the answer of a tool that was stopped when its time was over."""
    return _failed("timed_out", "ToolTimeoutError", f"no result within {limit_s:g} s, so it was stopped: {_UNSURE}")


def too_large(size: int, limit: int, unit: str) -> ToolAnswer:
    """Return the answer of a tool that said too much: `size` and `limit` in `unit`."""
    what = f"the result has {size} {unit}, and {limit} are allowed: ask for less"
    return failed("ToolResultTooLargeError", what)


def result_of(call: CallRecord, call_id: str, answer: ToolAnswer) -> ToolResult:
    """Return `answer` as the result of the call `call_id` in the attempt that `call` names."""
    return ToolResult(
        tenant=call.tenant,
        thread_id=call.thread_id,
        turn_id=call.turn_id,
        step=call.step,
        attempt=call.attempt,
        tool_call_id=call_id,
        content=answer.content,
        error=answer.error,
    )


def bounded(call: CallRecord, call_id: str, answer: ToolAnswer, limit: int) -> tuple[ToolAnswer, ToolResult]:
    """Return `answer` and its result; one whose record is longer than `limit` bytes becomes an error that says so."""
    result = result_of(call, call_id, answer)
    size = len(codec.encode(result))
    if size <= limit or answer.content is None:
        return answer, result
    answer = too_large(size, limit, "bytes")
    return answer, result_of(call, call_id, answer)
