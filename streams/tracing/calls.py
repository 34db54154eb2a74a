"""The spans of model calls and tool calls, each told once all of its answer is confirmed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Generic

from streams.runner.kind import CallKey, R
from streams.runner.tracer import CallTracer
from streams.tools.answers import ToolAnswer
from streams.tracing import spans
from streams.tracing.spans import Kind, Span, Spans, Value, span_id_of
from topics.content import Usage
from topics.records import CallRecord, ModelFrame, PromptRequest, ToolCallRequest, ToolResult
from topics.trace_context import Headers, TraceContext

_INTERRUPTED = "CallInterruptedError"


@dataclass(slots=True)
class _Open:
    partition: int
    parent: TraceContext
    context: TraceContext
    headers: Headers
    began: float
    first: float | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    error: str | None = None
    attributes: dict[str, Value] = field(default_factory=dict)


class CallTracing(CallTracer[R], Generic[R]):
    """What both kinds of calls have in common. `now` returns seconds since the epoch."""

    operation: str
    kind: Kind

    def __init__(self, told: Spans, now: Callable[[], float]) -> None:
        self._told = told
        self._now = now
        self._open: dict[CallKey, _Open] = {}

    def started(self, request: R, parent: TraceContext, at: float) -> None:
        """Remember the call until its end."""
        call = CallKey.of(request)
        context = _context_of(call, parent)
        self._open[call] = _Open(request.partition, parent, context, context.headers, at)

    def headers(self, answer: CallRecord) -> Headers:
        """Return the headers of the call's own span; none where its request had none."""
        call = self._open.get(_call_of(answer))
        if call is None:
            return ()
        if isinstance(answer, ModelFrame):
            self._note(call, answer)
        return call.headers

    def ended(self, request: R, end: object, at: float) -> None:
        """Tell the call's span."""
        call = self._open.pop(CallKey.of(request), None)
        if call is None or not call.parent.sampled:
            return
        what, attributes = self._about(request, end, call)
        error = call.error
        self._tell(call.context, call.parent, (call.began, at), what, {**attributes, **_place(request)}, error)

    def interrupted(self, call: CallKey, parent: TraceContext, began: float, at: float) -> None:
        """Tell the span of a call of which no more is known than when it began."""
        if parent.sampled:
            self._tell(_context_of(call, parent), parent, (began, at), None, _place(call.record()), _INTERRUPTED)

    def lost(self, partition: int) -> None:
        """Forget the partition's calls: their next owner tells their spans."""
        for call in [call for call, one in self._open.items() if one.partition == partition]:
            del self._open[call]

    def _about(self, request: R, end: object, call: _Open) -> tuple[str | None, dict[str, Value]]:
        """Return what is called, None if that has no name, and what else is to be said of the call."""
        raise NotImplementedError

    def _note(self, call: _Open, frame: ModelFrame) -> None:
        if call.first is None and frame.error is None:
            call.first = self._now()
        call.finish_reason = frame.finish_reason or call.finish_reason
        call.usage = frame.usage or call.usage
        if frame.error is not None:
            call.error = spans.word_or(frame.error.type, "_OTHER")

    def _tell(
        self,
        context: TraceContext,
        parent: TraceContext,
        times: tuple[float, float],
        what: str | None,
        attributes: dict[str, Value],
        error: str | None,
    ) -> None:
        said: dict[str, Value] = {spans.OPERATION: self.operation, **attributes}
        if error is not None:
            said[spans.ERROR] = error
        name = f"{self.operation} {what}" if what is not None else self.operation
        began, at = times
        self._told.take(Span(name, self.kind, context, parent, began, max(began, at), said, error))


class ModelCallTracing(CallTracing[PromptRequest]):
    """Tells the spans of model calls. `asked` says which provider a request asks, and for which model of it."""

    operation = "chat"
    kind: Kind = "client"

    def __init__(
        self, told: Spans, now: Callable[[], float], asked: Callable[[PromptRequest], tuple[str, str | None]]
    ) -> None:
        super().__init__(told, now)
        self._asked = asked

    def _about(self, request: PromptRequest, end: object, call: _Open) -> tuple[str | None, dict[str, Value]]:  # noqa: ARG002
        provider, model = self._asked(request)
        model = spans.name_or_none(model)
        said: dict[str, Value] = {spans.PROVIDER: provider, spans.RETRY: request.retry, **spans.usage_of(call.usage)}
        if model is not None:
            said[spans.MODEL] = model
        if call.finish_reason is not None:
            said[spans.FINISH_REASONS] = (spans.word_or(call.finish_reason, "_OTHER"),)
        if call.first is not None:
            said[spans.FIRST_CHUNK] = max(0.0, call.first - call.began)
        return model, said


class ToolCallTracing(CallTracing[ToolCallRequest]):
    """Tells the spans of tool calls. `tools` are the names of those there are: a model may call anything by any name."""

    operation = "execute_tool"
    kind: Kind = "internal"

    def __init__(self, told: Spans, now: Callable[[], float], tools: Collection[str]) -> None:
        super().__init__(told, now)
        self._tools = tools

    def _about(self, request: ToolCallRequest, end: object, call: _Open) -> tuple[str | None, dict[str, Value]]:
        said: dict[str, Value] = {spans.TOOL_TYPE: "function"}
        if isinstance(end, ToolAnswer):
            said[spans.OUTCOME] = end.outcome
            call.error = spans.word_or(end.failure, "_OTHER") if end.failure is not None else None
        tool = request.call.name if request.call.name in self._tools else None
        if tool is not None:
            said[spans.TOOL] = tool
        return tool, said


def _context_of(call: CallKey, parent: TraceContext) -> TraceContext:
    span_id = span_id_of(parent.trace_id, parent.span_id, "call", call.step, call.attempt, call.call_id or "")
    return TraceContext(parent.trace_id, span_id, parent.sampled, parent.state)


def _call_of(answer: CallRecord) -> CallKey:
    call_id = answer.tool_call_id if isinstance(answer, ToolResult) else None
    return CallKey(answer.turn, answer.step, answer.attempt, call_id)


def _place(call: CallRecord) -> dict[str, Value]:
    return {spans.STEP: call.step, spans.ATTEMPT: call.attempt}
