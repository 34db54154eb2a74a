"""Tracing is off unless it is asked for, and then set up by OpenTelemetry's own variables."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from streams.settings import Settings, trace_exporters
from streams.tracing.errors import NoExporterError, NoOtelError
from streams.tracing.otel import exporting
from streams.tracing.start import tracing


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the environment of the tests says."""
    for name in ("SDK_DISABLED", "TRACES_EXPORTER", "EXPORTER_OTLP_PROTOCOL", "EXPORTER_OTLP_TRACES_PROTOCOL"):
        monkeypatch.delenv(f"OTEL_{name}", raising=False)


@pytest.mark.parametrize(
    ("variables", "exporters"),
    [
        ({}, ("otlp_proto_http",)),
        ({"OTEL_TRACES_EXPORTER": "otlp, console"}, ("otlp_proto_http", "console")),
        ({"OTEL_TRACES_EXPORTER": "none"}, ()),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ("otlp_proto_grpc",)),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"},
            ("otlp_proto_http",),
        ),
        ({"OTEL_SDK_DISABLED": "TRUE"}, None),
    ],
)
def test_opentelemetrys_variables_say_where_traces_go(
    variables: dict[str, str], exporters: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its specification has them."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert trace_exporters() == exporters


async def test_there_are_no_traces_unless_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that are set for everything on a machine turn nothing on here."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    async with tracing(Settings(), "turns") as spans:
        assert spans is None
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    async with tracing(Settings(traces=True), "turns") as spans:
        assert spans is None


async def test_a_process_names_itself_unless_the_environment_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """After its role."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    async with tracing(Settings(traces=True), "turns") as spans:
        assert resource(spans)["service.name"] == "turngate-turns"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "chat")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    async with tracing(Settings(traces=True), "turns") as spans:
        assert resource(spans)["service.name"] == "chat"
        assert resource(spans)["deployment.environment.name"] == "staging"


def resource(spans: object) -> Any:
    """Return what a process says of itself."""
    return spans._provider.resource.attributes  # type: ignore[attr-defined]


def test_an_exporter_that_is_not_there_is_named() -> None:
    """With what to install."""
    with pytest.raises(NoExporterError, match=r"no exporter otlp_proto_pigeon .* install"):
        exporting(["otlp_proto_pigeon"], "x")


async def test_traces_without_opentelemetry_are_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And not a worker that quietly traces nothing."""
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "streams.tracing.otel")
    with pytest.raises(NoOtelError, match=r"turngate\[otel\]"):
        async with tracing(Settings(traces=True), "turns"):
            pass


@pytest.mark.parametrize(
    "module", ["streams.roles.turns", "streams.roles.models", "streams.roles.tools", "streams.gateway.serve"]
)
def test_opentelemetry_is_not_imported_where_nothing_is_traced(module: str) -> None:
    """Neither its time nor its memory is spent; FastAPI imports the interface of it where that is installed."""
    ours = "name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter', 'streams.tracing.otel'))"
    code = f"import sys, {module}; print([name for name in sys.modules if {ours}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
