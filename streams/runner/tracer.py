"""What traces calls, as a runner sees it: `streams.tracing` has the ones that do."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from streams.runner.kind import CallKey
from topics.records import CallRecord, PromptRequest, ToolCallRequest
from topics.trace_context import Headers, TraceContext

R_contra = TypeVar("R_contra", bound=PromptRequest | ToolCallRequest, contravariant=True)


class CallTracer(Protocol, Generic[R_contra]):
    """Knows the traces of one kind of calls. Times are in seconds since the epoch."""

    def started(self, request: R_contra, parent: TraceContext, at: float, /) -> None:
        """Hear that a call begins, because of the span `parent`."""

    def headers(self, answer: CallRecord, /) -> Headers:
        """Take note of a part of a call's answer, and return the headers that it is sent with."""

    def ended(self, request: R_contra, end: object, at: float, /) -> None:
        """Hear that all of a call's answer is confirmed."""

    def interrupted(self, call: CallKey, parent: TraceContext, began: float, at: float, /) -> None:
        """Hear that a call, which a dead runner had begun, is reported as interrupted."""

    def lost(self, partition: int, /) -> None:
        """Hear that the calls of a partition are no longer this runner's."""
