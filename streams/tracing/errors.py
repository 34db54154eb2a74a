"""Why traces cannot be sent: both end a process before it starts."""

from __future__ import annotations

from streams.settings import SettingsError


class TracingError(SettingsError):
    """Traces are wanted and cannot be had: the message says what to do."""


class NoExporterError(TracingError):
    """No installed package has the exporter that is asked for."""


class NoOtelError(TracingError):
    """OpenTelemetry is not installed."""
