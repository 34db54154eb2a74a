"""What a process says about itself over HTTP: whether it lives, whether it works, and its metrics."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Callable, Iterator

import pytest

from streams.metrics import ToolMetrics
from streams.settings import SettingsError
from streams.status import STUCK_S, MetricsPortError, Status, serve_status, start_server

Ask = Callable[..., tuple[int, str, bytes]]


class Clock:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Give the status's clock."""
    return Clock()


@pytest.fixture
def status(clock: Clock) -> Status:
    """Give the status that is served."""
    return Status(clock)


@pytest.fixture
def ask(status: Status) -> Iterator[Ask]:
    """Give a way to ask a server for a path: its answer's code, content type and body."""
    measures = ToolMetrics()
    measures.ready_when(lambda: status.waits_for is None)
    server = start_server(0, status, measures)

    def asked(path: str, method: str = "GET") -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read()
        finally:
            connection.close()

    yield asked
    server.shutdown()
    server.server_close()


def test_it_is_ready_once_nothing_is_waited_for(ask: Ask, status: Status) -> None:
    """Until then it says for what, and goes back to that."""
    code, kind, body = ask("/ready")
    assert (code, kind) == (503, "application/json")
    assert json.loads(body) == {"ready": False, "waits_for": "the start to be over"}
    waits: list[str | None] = [None]
    status.ready_when(lambda: waits[0])
    assert ask("/ready") == (200, "application/json", b'{"ready": true}\n')
    assert b"turngate_ready 1.0" in ask("/metrics")[2]
    waits[0] = "a rebalance"
    assert ask("/ready")[0] == 503
    assert b"turngate_ready 0.0" in ask("/metrics")[2]


def test_it_lives_while_the_event_loop_beats(ask: Ask, status: Status, clock: Clock) -> None:
    """One that is stuck for long is better started again."""
    clock.now += STUCK_S - 1
    assert ask("/live")[0] == 200
    clock.now += 2
    assert ask("/live")[0] == 503
    assert json.loads(ask("/live")[2]) == {"live": False, "stuck_s": 31}
    status.beat()
    assert ask("/live?verbose") == (200, "application/json", b'{"live": true}\n')


def test_other_paths_are_named_and_heads_are_bare(ask: Ask) -> None:
    """Some probes ask for the head alone."""
    assert ask("/")[0] == 404
    assert b"/ready" in ask("/healthz")[2]
    assert ask("/live", "HEAD") == (200, "application/json", b"")
    assert ask("/metrics")[1].startswith("text/plain")


async def test_the_event_loop_beats_by_itself() -> None:
    """Without a port too: whoever asks in other ways gets the same answer."""
    status = serve_status(None, ToolMetrics())
    before = status.stuck_s
    await asyncio.sleep(0.01)
    assert status.stuck_s < before + STUCK_S
    (task,) = [one for one in asyncio.all_tasks() if one.get_name() == "status"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_port_that_cannot_be_listened_on_is_named() -> None:
    """It is a mistake in the settings, and said like one: with the setting, the port, and what to do."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(MetricsPortError, match=rf"TURNGATE_METRICS_PORT.* {port} .*another port") as caught:
            serve_status(port, ToolMetrics())
    assert isinstance(caught.value, SettingsError)
    # The second worker of a pipeline listens one port further on.
    with pytest.raises(MetricsPortError, match="65536"):
        serve_status(65536, ToolMetrics())
