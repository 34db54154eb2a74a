"""The only place that knows OpenTelemetry: hands finished spans to its SDK, which is set up by its own variables.

What the SDK reads from the environment (`OTEL_SERVICE_NAME`, the sampler, the exporter's address, headers and batches) it
reads itself. Spans wait in a queue of bounded length and are sent by a thread of the SDK's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points, version
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace.span import TraceState

from streams.tracing.errors import NoExporterError
from streams.tracing.spans import Kind, Span
from topics.trace_context import TraceContext

_GROUP = "opentelemetry_traces_exporter"
_KINDS: dict[Kind, trace.SpanKind] = {
    "internal": trace.SpanKind.INTERNAL,
    "client": trace.SpanKind.CLIENT,
    "server": trace.SpanKind.SERVER,
    "consumer": trace.SpanKind.CONSUMER,
}
#: How long a process that ends tries to get rid of what waits, in seconds.
_FLUSH_S = 3.0


class _GivenIds(IdGenerator):
    """Gives the ids that were set just before."""

    def __init__(self) -> None:
        self.context = TraceContext("0" * 31 + "1", "0" * 15 + "1", sampled=False)

    def generate_span_id(self) -> int:
        return int(self.context.span_id, 16)

    def generate_trace_id(self) -> int:
        return int(self.context.trace_id, 16)


class OtelSpans:
    """`streams.tracing.spans.Spans` with the SDK behind it; `service` names the process unless the environment does."""

    def __init__(self, service: str, processors: Sequence[SpanProcessor]) -> None:
        self._ids = _GivenIds()
        resource = Resource.create({SERVICE_NAME: service}).merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        for one in processors:
            self._provider.add_span_processor(one)
        self._tracer = self._provider.get_tracer("turngate", version("turngate"))

    def sampled(self, trace_id: str, parent: TraceContext | None) -> bool:
        """Whether the sampler that the environment names records the trace."""
        asked = self._provider.sampler.should_sample(_around(parent), int(trace_id, 16), "invoke_agent")
        return asked.decision is Decision.RECORD_AND_SAMPLE

    def take(self, span: Span) -> None:
        """Hand a span on."""
        self._ids.context = span.context
        begun = self._tracer.start_span(
            span.name,
            context=_around(span.parent),
            kind=_KINDS[span.kind],
            attributes={
                name: list(said) if isinstance(said, tuple) else said for name, said in span.attributes.items()
            },
            start_time=_ns(span.start),
        )
        if span.error is not None:
            begun.set_status(trace.StatusCode.ERROR)
        begun.end(_ns(span.end))

    async def close(self) -> None:
        """Send what waits, within a few seconds; what cannot be sent by then is dropped.

        The SDK tries for as long as an exporter does, whatever it is told: tens of seconds, with nobody at the other end.
        So it does that in a thread that nothing waits for, an executor least of all, and that ends with the process.
        """
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()  # which sends what waits
            with suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut_down, name="last spans", daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _FLUSH_S)


def exporting(names: Sequence[str], service: str) -> OtelSpans:
    """Return spans that go to the exporters of these names, as packages register them with OpenTelemetry.

    Raises:
        NoExporterError: no installed package has an exporter of such a name.
    """
    return OtelSpans(service, [BatchSpanProcessor(_exporter(name)) for name in names])


def _exporter(name: str) -> Any:
    for found in entry_points(group=_GROUP, name=name):
        return found.load()()
    raise NoExporterError(
        f"there is no exporter {name} for traces: install the package that has it (otlp over HTTP comes with "
        "turngate[otel]), or set OTEL_TRACES_EXPORTER and OTEL_EXPORTER_OTLP_PROTOCOL to what is installed"
    )


def _around(parent: TraceContext | None) -> Context:
    if parent is None:
        return Context()
    above = trace.SpanContext(
        int(parent.trace_id, 16),
        int(parent.span_id, 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED if parent.sampled else trace.TraceFlags.DEFAULT),
        trace_state=TraceState.from_header([parent.state]) if parent.state else TraceState(),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(above), Context())


def _ns(seconds: float) -> int:
    return round(seconds * 1_000_000) * 1_000
