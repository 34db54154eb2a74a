"""What the gateway's endpoints work with: one object, made when it starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request

from processors.manifest import Manifest
from streams.gateway.hub import Hub
from streams.gateway.keys import Keys
from streams.gateway.limits import Limits
from streams.gateway.pulse import Meter
from streams.gateway.traces import Traces
from topics.client import TurnClient


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator has set. Times are in seconds, sizes in bytes.

    `open` lets everybody on this machine in, as tenant `default`. `quiet_s` is after how long without news a stream of
    events is ended, `patience_s` how long an answer waits for a turn to be read again. `models` are the names that are
    listed, `params` those that requests may use.
    """

    open: bool = False
    keep_alive_s: float = 15.0
    send_timeout_s: float = 30.0
    quiet_s: float = 660.0
    patience_s: float = 20.0
    max_body_bytes: int = 768 * 1024
    cors_origins: tuple[str, ...] = ()
    console: bool = True
    models: tuple[str, ...] = ()
    params: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gateway:
    """The parts of one gateway. `drop` ends the connection with the client at an address (host, port), whatever it does."""

    options: Options
    client: TurnClient
    hub: Hub
    traces: Traces
    meter: Meter
    keys: Keys
    limits: Limits
    manifest: Manifest
    drop: Callable[[object], None]


def gateway_of(request: Request) -> Gateway:
    """Return the gateway that a request has come to."""
    return cast("Gateway", request.app.state.gateway)


#: Something that is done once a stream is over.
Afterwards = Callable[[], Awaitable[None]]
