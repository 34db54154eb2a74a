"""One piece of model output, before it belongs to a call."""

from __future__ import annotations

from dataclasses import dataclass

from topics.content import Usage
from topics.records import ModelError, ToolCallDelta


@dataclass(frozen=True, slots=True)
class Delta:
    """A `ModelFrame` without its ids and `seq`: what an adapter yields. Several payloads may share one delta.

    The first delta with a `finish_reason` or an `error` is the last one of its call.
    """

    text: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_call_delta: ToolCallDelta | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    error: ModelError | None = None

    @property
    def is_last(self) -> bool:
        """Whether the call ends with this delta."""
        return self.finish_reason is not None or self.error is not None

    @property
    def is_text_only(self) -> bool:
        """Whether text is all it carries, so that it may be joined with its neighbours."""
        return self.text is not None and self == Delta(text=self.text)
