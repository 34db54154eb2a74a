"""Traces of one process: none, unless the settings ask for them; only then is OpenTelemetry imported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from streams.settings import Settings, trace_exporters
from streams.tracing.errors import NoOtelError
from streams.tracing.spans import Spans


class _Closing(Spans, Protocol):
    async def close(self) -> None:
        """Send what waits."""


@asynccontextmanager
async def tracing(settings: Settings, role: str) -> AsyncIterator[Spans | None]:
    """Give the block where the spans of this process go, None where turns are not traced, and send what waits after it.

    Raises:
        NoOtelError: traces are wanted and the `otel` extra is not installed.
        NoExporterError: no installed package has the exporter that the environment names.
    """
    spans = _started(settings, role)
    if spans is None:
        yield None
        return
    try:
        yield spans
    finally:
        await spans.close()


def _started(settings: Settings, role: str) -> _Closing | None:
    exporters = trace_exporters() if settings.traces else None
    if exporters is None:
        return None
    try:
        from streams.tracing.otel import exporting  # noqa: PLC0415 - an extra, and not imported unless it is wanted
    except ImportError as missing:
        if (missing.name or "").startswith("streams"):
            raise
        raise NoOtelError(
            "TURNGATE_TRACES is set and OpenTelemetry is not installed: pip install 'turngate[otel]', or unset it"
        ) from None
    return exporting(exporters, f"turngate-{role}")
