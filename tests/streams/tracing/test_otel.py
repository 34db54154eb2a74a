"""Handing spans to OpenTelemetry, whatever is at the other end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from streams.tracing import otel
from streams.tracing.otel import OtelSpans
from streams.tracing.spans import INPUT_TOKENS, OUTPUT_TOKENS, Span, usage_of
from topics.content import Usage
from topics.trace_context import TraceContext

CONTEXT = TraceContext("1" * 32, "2" * 16, sampled=True)


class Stuck(SpanExporter):
    """An exporter whose other end takes a connection and says nothing until it is `released`."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.got: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Wait for the other end."""
        self.released.wait()
        self.got += [span.name for span in spans]
        return SpanExportResult.SUCCESS


async def test_a_process_does_not_wait_for_an_end_that_takes_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is over after a few seconds, and its loop has no executor left that waits on."""
    monkeypatch.setattr(otel, "_FLUSH_S", 0.1)
    stuck = Stuck()
    spans = OtelSpans("x", [BatchSpanProcessor(stuck)])
    spans.take(Span("a", "internal", CONTEXT, None, 1.0, 2.0))
    try:
        await asyncio.wait_for(spans.close(), 60)
        assert stuck.got == []
        assert not [one for one in threading.enumerate() if one.name.startswith("asyncio") and not one.daemon]
        assert all(one.daemon for one in threading.enumerate() if one.name == "last spans")
    finally:
        stuck.released.set()


async def test_what_waits_is_sent_before_the_process_ends() -> None:
    """If somebody takes it."""
    ready = Stuck()
    ready.released.set()
    spans = OtelSpans("x", [BatchSpanProcessor(ready)])
    spans.take(Span("a", "internal", CONTEXT, None, 1.0, 2.0))
    await spans.close()
    assert ready.got == ["a"]


def test_counts_that_no_exporter_can_send_are_left_out() -> None:
    """Or the spans of other turns that wait with this one would be dropped as well."""
    assert usage_of(Usage(prompt_tokens=2**63, completion_tokens=7)) == {OUTPUT_TOKENS: 7}
    assert usage_of(Usage(prompt_tokens=2**63 - 1, completion_tokens=-(2**80))) == {INPUT_TOKENS: 2**63 - 1}
    assert usage_of(None) == {}
