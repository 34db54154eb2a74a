"""The gateway is sent what its own OpenAPI description allows, and what it does not: never a fault of the server's.

Behind it are real workers and a model that always answers, so that a request which is taken and then cannot be answered
shows too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from streams.brokers import ports
from tests.streams.cli.pipeline import Up, wait_for
from tests.streams.models.model_server import model_server

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

pytestmark = pytest.mark.embedded

#: For each operation and each mode; small, as this runs with every test run.
EXAMPLES = 25
#: A stream of events of a turn that is not there has no end.
PATIENCE_S = 1.0
WITHOUT_INPUT = {"/live", "/ready"}
#: What models wrote is for operators' keys, and this gateway wants no key.
REFUSED = {"/v1/turns/{turn_id}/written"}
OPERATIONS = (
    ("/v1/turns", "POST"),
    ("/v1/turns", "GET"),
    ("/v1/turns/{turn_id}", "GET"),
    ("/v1/turns/{turn_id}", "DELETE"),
    ("/v1/turns/{turn_id}/events", "GET"),
    ("/v1/turns/{turn_id}/timeline", "GET"),
    ("/v1/turns/{turn_id}/written", "GET"),
    ("/v1/key", "GET"),
    ("/v1/pulse", "GET"),
    ("/v1/chat/completions", "POST"),
    ("/v1/models", "GET"),
    ("/v1/processors", "GET"),
    ("/live", "GET"),
    ("/ready", "GET"),
)


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """Give the address of a model that always says one word."""
    address: list[str] = []
    ready, told = threading.Event(), threading.Event()

    async def serve() -> None:
        async with model_server() as server:
            address.append(server.base_url)
            ready.set()
            await asyncio.to_thread(told.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    yield address[0]
    told.set()
    thread.join()


@pytest.fixture(scope="module")
def url(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a gateway with a pipeline behind it."""
    directory: Path = tmp_path_factory.mktemp("up")
    (directory / "turngate.toml").write_text(
        'openai_model = "test"\ngateway_requests_per_minute = 1000000\nmax_attempts = 1\ngateway_streams_per_key = 2000\n'
    )
    port = ports.free_port()
    up = Up.start(directory, "--model", model, "--partitions", "2", "--gateway-port", str(port))
    wait_for(lambda: ports.is_open(port), "the gateway does not come up")
    yield str(up.first["gateway"])
    up.process.terminate()
    up.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def ended(url: str) -> str:
    """Give the id of a turn that has ended."""
    turn = str(httpx.post(f"{url}/v1/turns", json={"message": "hi"}).json()["id"])
    wait_for(lambda: httpx.get(f"{url}/v1/turns/{turn}").json()["state"] == "completed", "it does not end")
    return turn


def sensible(body: dict[str, Any]) -> dict[str, Any]:
    """Return a chat request with a message that can be answered, and without parameters that nobody allows."""
    kept = ("model", "stream", "stream_options", "tools", "user")
    fields = {name: value for name, value in body.items() if name in kept}
    said = body.get("messages")
    return fields | {"messages": [*(said if isinstance(said, list) else ()), {"role": "user", "content": "hi"}]}


def test_every_operation_is_tried(url: str) -> None:
    """A new one has to be added here."""
    paths = httpx.get(f"{url}/openapi.json").json()["paths"]
    there = {(path, method.upper()) for path, methods in paths.items() for method in methods}
    assert there == set(OPERATIONS)


@pytest.mark.parametrize(
    ("path", "method", "mode"),
    [
        (path, method, mode)
        for path, method in OPERATIONS
        for mode in ("positive", "negative")
        if mode == "positive" or path not in WITHOUT_INPUT
    ],
)
def test_no_request_finds_a_fault(url: str, ended: str, path: str, method: str, mode: str) -> None:
    """Below 500, whatever comes, with a body of the described shape where it is an error."""
    operation = schemathesis.openapi.from_url(f"{url}/openapi.json")[path][method]
    cases = operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode))
    statuses: set[int] = set()

    # No database and no shrinking: a run is a run, and takes no longer when it finds something.
    @seed(4711)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases, known=st.booleans())
    def attempt(case: Any, *, known: bool) -> None:
        if "{turn_id}" in path and known:
            case.path_parameters = {**(case.path_parameters or {}), "turn_id": ended}
        if path.endswith("/completions") and known and isinstance(case.body, dict):
            case.body = sensible(case.body)
        try:
            response = case.call(timeout=PATIENCE_S if path.endswith("/events") else 30)
        except Exception as error:
            if path.endswith("/events") and "Timeout" in type(error).__name__:
                return
            raise
        statuses.add(response.status_code)
        assert response.status_code < 500, (response.status_code, response.text)
        if response.status_code >= 400 and method != "HEAD":
            assert set(response.json()["error"]) == {"message", "type", "param", "code"}, response.text

    attempt()
    if mode == "positive" and not path.endswith("/events") and path not in REFUSED:
        assert statuses & {200, 202}, "nothing was ever taken: what is sent is not what is described"
