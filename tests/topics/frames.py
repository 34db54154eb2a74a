"""Released frames of one example turn, for tests of readers."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from topics.ids import TurnKey
from topics.records import (
    BlockedFrame,
    CancelledFrame,
    CompletedFrame,
    FailedFrame,
    PostprocessCompleteFrame,
    RejectedFrame,
    ResetFrame,
    TextFrame,
)

TURN = TurnKey("acme", "thread-1", "turn-1")
IDS: dict[str, Any] = TURN._asdict()


def text(offset: int, words: str, step: int = 0, attempt: int = 0, **ids: str) -> TextFrame:
    """Return a text frame."""
    return TextFrame(**{**IDS, **ids}, step=step, attempt=attempt, offset=offset, text=words)


def reset(attempt: int, step: int = 0) -> ResetFrame:
    """Return a reset frame."""
    return ResetFrame(**IDS, step=step, attempt=attempt)


def completed(reply: str, step: int = 0, attempt: int = 0, **fields: Any) -> CompletedFrame:
    """Return the ending of a turn that went well, the reply in it."""
    fields = {**IDS, "reply": reply, "length": len(reply), "finish_reason": "stop", **fields}
    return CompletedFrame(step=step, attempt=attempt, **fields)


def completed_long(reply: str, step: int = 0, attempt: int = 0) -> CompletedFrame:
    """Return the ending of a turn whose reply is too long to be repeated."""
    return completed(reply, step, attempt).model_copy(
        update={"reply": None, "sha256": sha256(reply.encode()).hexdigest()}
    )


def failed(offset: int = 0, step: int = 0, attempt: int = 0) -> FailedFrame:
    """Return the ending of a turn that failed after `offset` characters were out."""
    return FailedFrame(
        **IDS, step=step, attempt=attempt, offset=offset, error="ModelFailedError", message="the model gave up"
    )


def rejected() -> RejectedFrame:
    """Return the ending of a turn whose answer was refused."""
    return RejectedFrame(**IDS, processor="no-secrets")


def cancelled() -> CancelledFrame:
    """Return the ending of a cancelled turn."""
    return CancelledFrame(**IDS)


def blocked(response: str) -> BlockedFrame:
    """Return the ending of a turn that a pre-processor answered."""
    return BlockedFrame(**IDS, response=response, processor="opening-hours")


def postprocessed(words: str) -> PostprocessCompleteFrame:
    """Return the post-processed reply."""
    return PostprocessCompleteFrame(**IDS, text=words)
