"""A gateway process: what it is made of, and running it until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from processors.manifest import Manifest
from streams.broker_access import connection_of
from streams.chains import ProcessChainRunner
from streams.gateway.app import application
from streams.gateway.auth import LOOPBACK
from streams.gateway.context import Gateway, Options
from streams.gateway.counting import CountedRequests
from streams.gateway.hub import Bounds, Hub
from streams.gateway.keys import Keys, KeysError
from streams.gateway.limits import Limits
from streams.gateway.models import listed_models, usable_params
from streams.gateway.pulse import Meter
from streams.gateway.traces import Traces
from streams.gateway.watching import watching
from streams.metrics import GatewayMetrics
from streams.settings import Settings, SettingsError
from streams.status import serve_status
from streams.tracing.http import TracedRequests, inject
from streams.tracing.start import tracing
from topics.client import Inject, TurnClient
from topics.names import Names

log = logging.getLogger(__name__)

#: How long streams may take to end when the gateway is told to stop, in seconds.
_STOP_S = 5
#: Connections beside those of streams: requests that are answered at once.
_SPARE_CONNECTIONS = 500
#: Between the end of a turn and the end of a stream that waits for it, in seconds.
_SLACK_S = 60.0
#: A hub begins so many times the longest turn before the end of the topic.
_LOOKBACK = 1.5


_CONFIG: dict[str, Any] = {
    "access_log": False,
    "log_config": None,
    "log_level": "warning",
    "lifespan": "off",
    "ws": "none",
    "server_header": False,
    "timeout_graceful_shutdown": _STOP_S,
}


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield

    def drop(self, client: object) -> None:
        """End the connection with the client at this address, without waiting for it to take what is buffered."""
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) == client:
                transport: Any = getattr(connection, "transport", None)
                if transport is not None:
                    transport.abort()


def check(settings: Settings) -> Keys:
    """Return the keys in force.

    Raises:
        SettingsError: there are none, and it is not said that everybody on this machine may come in; or the file of keys
            cannot be used.
    """
    path = Path(settings.gateway_keys_file) if settings.gateway_keys_file is not None else None
    try:
        keys = Keys(settings.gateway_keys, path, time.monotonic)
    except KeysError as error:
        raise SettingsError(str(error)) from None
    if settings.gateway_open and settings.gateway_host not in LOOPBACK:
        raise SettingsError(
            f"TURNGATE_GATEWAY_OPEN lets everybody in, so it is for a loopback address only, and TURNGATE_GATEWAY_HOST is "
            f"{settings.gateway_host}: make keys with `turngate keys create` instead"
        )
    if not keys and not settings.gateway_open:
        raise SettingsError(
            "the gateway has no keys: make one with `turngate keys create`, or set TURNGATE_GATEWAY_OPEN=true to let "
            "everybody on this machine in"
        )
    return keys


async def declared(settings: Settings) -> Manifest:
    """Return what the operator declares; the code is loaded in a process of its own and not run.

    Raises:
        DepsError: it does not load.
    """
    if settings.deps is None:
        return Manifest()
    chains = ProcessChainRunner(settings.deps, workers=1, paths=(Path.cwd(),))
    await chains.start()
    try:
        return chains.manifest
    finally:
        await chains.stop()


@contextlib.asynccontextmanager
async def gateway(
    settings: Settings,
    bootstrap: str,
    drop: Callable[[object], None],
    manifest: Manifest | None = None,
    submitting: Inject | None = None,
) -> AsyncIterator[Gateway]:
    """Yield the parts of a gateway, running; `submitting` says which trace its turns belong to.

    Raises:
        SettingsError: see `check`.
        TopicsError: the broker is out of reach, or topics are missing.
    """
    keys = check(settings)
    connection, names = connection_of(settings, bootstrap), Names(settings.prefix)
    options = Options(
        open=settings.gateway_open,
        keep_alive_s=settings.gateway_keep_alive_s,
        send_timeout_s=settings.gateway_send_timeout_s,
        quiet_s=settings.turn_timeout_s + _SLACK_S,
        max_body_bytes=settings.gateway_max_body_bytes,
        cors_origins=settings.gateway_cors_origins,
        console=settings.gateway_console,
        models=listed_models(settings),
        params=usable_params(settings),
    )
    limits = Limits(
        requests_per_minute=settings.gateway_requests_per_minute,
        streams_per_key=settings.gateway_streams_per_key,
        streams=settings.gateway_max_streams,
        clock=time.monotonic,
    )
    longest = settings.turn_timeout_s + _SLACK_S
    bounds = Bounds(lookback_s=longest * _LOOKBACK, longest_turn_s=longest)
    meter = Meter()
    traces = Traces(
        since=time.time() - bounds.lookback_s,
        longest_turn_s=longest,
        watch=settings.gateway_frames,
        ended=meter.ended,
    )
    async with (
        TurnClient(connection, names, inject=submitting) as client,
        Hub(connection, names, client.partitions, bounds, seen=traces.take_released) as hub,
        watching(connection, names, client.partitions, traces),
    ):
        yield Gateway(options, client, hub, traces, meter, keys, limits, manifest or Manifest(), drop)


async def run(settings: Settings, bootstrap: str, told: asyncio.Event) -> None:
    """Serve until `told` is set.

    Raises:
        SettingsError: see `check`; or the address cannot be listened on.
        DepsError: the operator's processors do not load.
        TopicsError: the broker is out of reach, or topics are missing.
    """
    check(settings)
    manifest = await declared(settings)
    server = _Server(
        uvicorn.Config(_not_yet, **_CONFIG, limit_concurrency=settings.gateway_max_streams + _SPARE_CONNECTIONS)
    )
    async with (
        tracing(settings, "gateway") as spans,
        gateway(settings, bootstrap, server.drop, manifest, inject if spans is not None else None) as parts,
    ):
        metrics = GatewayMetrics(lambda: parts.limits.open_streams)
        app = CountedRequests(application(parts), metrics, time.monotonic)
        server.config.app = app if spans is None else TracedRequests(app, spans, time.time)
        status = serve_status(settings.metrics_port, metrics)
        status.ready_when(
            lambda: (
                None
                if server.started and parts.hub.reading
                else "the port to be listened on, and the broker to be read"
            )
        )
        with _listening(settings.gateway_host, settings.gateway_port) as listening:
            serving = asyncio.create_task(server.serve([listening]))
            waiting = asyncio.create_task(told.wait())
            log.info("gateway ready on http://%s:%d", settings.gateway_host, settings.gateway_port)
            await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            parts.hub.close()
            server.should_exit = True
            await serving


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens there: uvicorn's own way to say that it cannot is to end the process."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"the gateway cannot listen on {host} port {port} ({error.strerror}): stop what listens there, or set "
                "TURNGATE_GATEWAY_HOST and TURNGATE_GATEWAY_PORT"
            ) from None
        yield listening


async def _not_yet(*_: Any) -> None:
    """Stand in for the application until there is one."""
