"""A collector of traces: takes what is sent over HTTP in OpenTelemetry's protocol, and keeps it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Received:
    """A span as it was sent, ids in hexadecimal digits."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    failed: bool
    attributes: dict[str, Any] = field(compare=False)


class Receiver:
    """What was sent so far: `bodies` as bytes, `spans` as what they say."""

    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}"
        self.bodies: list[bytes] = []

    def spans(self, trace_id: str) -> list[Received]:
        """Return the spans of a trace, in the order of their arrival."""
        return [span for body in self.bodies for span in _spans(body) if span.trace_id == trace_id]


def _spans(body: bytes) -> Iterator[Received]:
    for group in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = next(one.value.string_value for one in group.resource.attributes if one.key == "service.name")
        for scope in group.scope_spans:
            for span in scope.spans:
                yield Received(
                    service,
                    span.name,
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.kind,
                    span.status.code == 2,
                    {one.key: _value(one.value) for one in span.attributes},
                )


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a collector for as long as the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server.server_address[1])
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()
