"""The spans of turns: one for each turn, and one for every processor's part in it.

All of it follows from what is journaled, and is told once the broker has what was published because of that: a successor
that publishes again tells the same spans with the same ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from streams.gate.state import Turn
from streams.tracing import spans
from streams.tracing.spans import Span, Spans, Value, span_id_of, trace_id_of
from streams.turns.plan import Outgoing
from streams.turns.tracer import Tracer
from topics.ids import TurnKey
from topics.records import TERMINAL_KINDS, Decision, FailedFrame
from topics.trace_context import Headers, TraceContext

_OPERATION = "invoke_agent"
#: Outcomes that are nobody's fault, and no error in a trace.
_ERRORS = {"rejected": "OutputRejectedError"}


class TurnTracing(Tracer):
    """Tells `told` the spans of turns; what it knows of a turn it forgets with the turn's end."""

    def __init__(self, told: Spans) -> None:
        self._told = told
        self._contexts: dict[TurnKey, tuple[TraceContext, Headers]] = {}

    def headers(self, turn: Turn) -> Headers:
        """Return the headers of what is published about a turn."""
        return self._known(turn)[1]

    def published(self, turn: Turn, outgoing: Outgoing) -> None:
        """Tell the spans of what the broker has now."""
        context = self._known(turn)[0]
        ends = any(getattr(effect.record, "kind", None) in TERMINAL_KINDS for effect in outgoing.effects)
        if context.sampled:
            decisions = [effect.record for effect in outgoing.effects if isinstance(effect.record, Decision)]
            for span in processor_spans(context, outgoing.n, decisions):
                self._told.take(span)
            if ends:
                failed = next((e.record for e in outgoing.effects if isinstance(e.record, FailedFrame)), None)
                self._told.take(turn_span(context, turn, failed))
        if ends:
            del self._contexts[turn.key]

    def lost(self, turns: Iterable[TurnKey]) -> None:
        """Forget turns that are another worker's now."""
        for key in turns:
            self._contexts.pop(key, None)

    def _known(self, turn: Turn) -> tuple[TraceContext, Headers]:
        known = self._contexts.get(turn.key)
        if known is None:
            context = context_of(turn, self._told)
            known = self._contexts[turn.key] = (context, context.headers)
        return known


def context_of(turn: Turn, told: Spans) -> TraceContext:
    """Return the context of a turn's span: in the caller's trace, or in one whose id follows from the turn.

    A turn's id may be used again once the turn is forgotten, so when it was accepted is a part of what its trace is about.
    """
    caller = caller_of(turn)
    trace_id = caller.trace_id if caller is not None else trace_id_of("turn", turn.key, turn.accepted_at)
    span_id = span_id_of(trace_id, "turn", turn.key, turn.accepted_at)
    return TraceContext(trace_id, span_id, told.sampled(trace_id, caller), caller.state if caller is not None else "")


def caller_of(turn: Turn) -> TraceContext | None:
    """Return the caller's span, None if the request did not come with one."""
    return TraceContext.parse(turn.trace) if turn.trace is not None else None


def turn_span(context: TraceContext, turn: Turn, failed: FailedFrame | None) -> Span:
    """Return the span of a turn whose outcome is decided; `failed` is its terminal frame if it failed."""
    attributes: dict[str, Value] = {
        spans.OPERATION: _OPERATION,
        spans.CONVERSATION: spans.conversation_of(turn.key.thread),
        spans.OUTCOME: turn.outcome or "",
        spans.DELIVERY: turn.request.delivery,
        spans.STEP: turn.step,
    }
    # Callers may name any agent; only those that are declared are the operator's words.
    agent = turn.request.agent if turn.started.persona is not None else None
    if agent is not None:
        attributes[spans.AGENT] = agent
    error = failed.error if failed is not None else _ERRORS.get(turn.outcome or "")
    if error is not None:
        attributes[spans.ERROR] = error
    if failed is not None and failed.phase is not None:
        attributes[spans.PHASE] = failed.phase
    return Span(
        name=f"{_OPERATION} {agent}" if agent is not None else _OPERATION,
        kind="consumer",
        context=context,
        parent=caller_of(turn),
        start=turn.accepted_at,
        end=max(turn.accepted_at, turn.progress_at),
        attributes=attributes,
        error=error,
    )


def processor_spans(turn: TraceContext, n: int, decisions: Iterable[Decision]) -> Iterator[Span]:
    """Yield the spans of what record `n` of a turn says that processors did, each chain's one after the other."""
    number = 0
    for _, chain in groupby(decisions, key=lambda one: one.phase):
        members = list(chain)
        end = members[-1].at
        start = end - sum(one.time_ms for one in members) / 1000.0
        for one in members:
            ended = start + one.time_ms / 1000.0
            yield _processor_span(
                turn, span_id_of(turn.trace_id, turn.span_id, "processor", n, number), one, start, ended
            )
            start = ended
            number += 1


def _processor_span(turn: TraceContext, span_id: str, one: Decision, start: float, end: float) -> Span:
    attributes: dict[str, Value] = {
        spans.PHASE: one.phase,
        spans.PROCESSOR: one.processor,
        spans.VERSION: one.version,
        spans.VERDICT: one.verdict,
        spans.CHANGES: one.changes,
        spans.STEP: one.step,
        spans.ATTEMPT: one.attempt,
    }
    error = spans.word_or(one.error, "_OTHER") if one.error is not None else None
    if error is not None:
        attributes[spans.ERROR] = error
    context = TraceContext(turn.trace_id, span_id, sampled=True, state=turn.state)
    return Span(f"{one.phase} {one.processor}", "internal", context, turn, start, end, attributes, error)
