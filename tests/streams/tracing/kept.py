"""Spans that go through OpenTelemetry's SDK and are kept in memory."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from streams.tracing.otel import OtelSpans


class Kept(OtelSpans):
    """Spans that can be looked at."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        super().__init__("turngate-test", [SimpleSpanProcessor(self._exporter)])

    @property
    def all(self) -> list[ReadableSpan]:
        """All of them, in the order of their telling."""
        return list(self._exporter.get_finished_spans())

    @property
    def by_id(self) -> dict[int, ReadableSpan]:
        """One for each id; those told again must say the same."""
        found: dict[int, ReadableSpan] = {}
        for span in self.all:
            known = found.setdefault(id_of(span), span)
            assert said(known) == said(span), "a span was told twice, and not the same"
        return found

    def named(self, name: str) -> ReadableSpan:
        """The only one of that name."""
        (found,) = {id_of(span): span for span in self.all if span.name == name}.values()
        return found


def id_of(span: ReadableSpan) -> int:
    """Return a span's id."""
    assert span.context is not None
    return int(span.context.span_id)


def trace_of(span: ReadableSpan) -> int:
    """Return the id of a span's trace."""
    assert span.context is not None
    return int(span.context.trace_id)


def parent_of(span: ReadableSpan) -> int | None:
    """Return the id of a span's parent."""
    return span.parent.span_id if span.parent is not None else None


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Return what a span says."""
    return dict(span.attributes or {})


def said(span: ReadableSpan) -> tuple[object, ...]:
    """Return all that makes one span another one than the next."""
    return (span.name, trace_of(span), parent_of(span), span.start_time, span.end_time, attributes(span), span.kind)
