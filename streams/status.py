"""What a process says about itself over HTTP: `/live`, `/ready` and `/metrics`, on one port.

Served from a thread of its own, so that it answers while the event loop is busy; `/live` says when that has been too long.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from streams.settings import SettingsError

#: An event loop that has done nothing for so long, in seconds, is stuck: the process should be started again.
STUCK_S = 30.0
_BEAT_S = 1.0
#: How long somebody who connects may take to ask.
_ASK_S = 10.0

#: Says what a process still waits for before it does its work, None when it does.
Unready = Callable[[], str | None]


class MetricsPortError(SettingsError):
    """The port that is set cannot be listened on; the message names it and says what to do."""


class Measures(Protocol):
    """The metrics of a role."""

    def render(self) -> tuple[str, bytes]:
        """Return them as a content type and a body."""

    def ready_when(self, ready: Callable[[], bool]) -> None:
        """Show what `ready` says whenever they are rendered."""


class Status:
    """Whether this process lives and does its work. Its methods may be called from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beaten_at = clock()
        self._unready: Unready = lambda: "the start to be over"

    def ready_when(self, unready: Unready) -> None:
        """Ask `unready` from now on."""
        self._unready = unready

    @property
    def waits_for(self) -> str | None:
        """What the process waits for before it does its work."""
        return self._unready()

    def beat(self) -> None:
        """Note that the event loop runs."""
        self._beaten_at = self._clock()

    @property
    def stuck_s(self) -> float:
        """How long ago the event loop was last known to run."""
        return self._clock() - self._beaten_at

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self.beat()
            await asyncio.sleep(_BEAT_S)


def serve_status(port: int | None, measures: Measures) -> Status:
    """Serve the status of this process on `port`, if there is one, for as long as the event loop runs; and return it.

    Raises:
        MetricsPortError: the port is taken, or not for this user to listen on, or no port.
    """
    status = Status()
    measures.ready_when(lambda: status.waits_for is None)
    if port is not None:
        start_server(port, status, measures)
    beating = asyncio.get_running_loop().create_task(status.run(), name="status")
    _BEATING.add(beating)
    beating.add_done_callback(_BEATING.discard)
    return status


#: The event loop itself remembers its tasks only weakly.
_BEATING: set[asyncio.Task[None]] = set()


def start_server(port: int, status: Status, measures: Measures) -> ThreadingHTTPServer:
    """Start to serve, in a thread that ends with the process, on every address of this machine; `port` 0 is any.

    Raises:
        MetricsPortError: as `serve_status`.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = _ASK_S

        def do_GET(self) -> None:
            code, kind, body = _answer(self.path.partition("?")[0], status, measures)
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - as the library names it

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
            """Say nothing: probes come every few seconds."""

    try:
        server = ThreadingHTTPServer(("0.0.0.0", port), Handler)  # noqa: S104 - probes come from other machines
    except (OSError, OverflowError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else None
        raise MetricsPortError(
            f"TURNGATE_METRICS_PORT: cannot listen on port {port} ({why or 'no such port'}): stop what listens there, "
            "or set another port"
        ) from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="status", daemon=True).start()
    return server


def _answer(path: str, status: Status, measures: Measures) -> tuple[HTTPStatus, str, bytes]:
    if path == "/metrics":
        return HTTPStatus.OK, *measures.render()
    if path == "/live":
        stuck_s = status.stuck_s
        live = stuck_s < STUCK_S
        return _said(live, {"live": live} if live else {"live": live, "stuck_s": round(stuck_s)})
    if path == "/ready":
        waits_for = status.waits_for
        ready = waits_for is None
        return _said(ready, {"ready": ready} if ready else {"ready": ready, "waits_for": waits_for})
    return HTTPStatus.NOT_FOUND, "application/json", b'{"error":"there are /live, /ready and /metrics"}\n'


def _said(yes: bool, words: dict[str, object]) -> tuple[HTTPStatus, str, bytes]:
    code = HTTPStatus.OK if yes else HTTPStatus.SERVICE_UNAVAILABLE
    return code, "application/json", json.dumps(words).encode() + b"\n"
