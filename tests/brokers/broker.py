"""What every broker under test can do, and what starting one takes."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

from streams.brokers import ports, probe

POLL_S = 0.05


class BrokerError(RuntimeError):
    """A broker under test cannot be had; the message says what to do about it."""


class Broker(ABC):
    """One broker under test, on the loopback address."""

    name: ClassVar[str]
    """Which kind it is: `embedded`, `apache` or `docker`; also its pytest marker."""
    keeps_data: ClassVar[bool] = False
    """Whether topics and records survive `restart`."""

    def __init__(self, directory: Path) -> None:
        """Keep data and logs in `directory`, which exists and is this broker's own."""
        self.directory = directory
        self.port = ports.free_port()

    @property
    def bootstrap(self) -> str:
        """Address for clients, `host:port`; stays the same over restarts."""
        return f"{ports.LOOPBACK}:{self.port}"

    @property
    def log(self) -> Path:
        """File with what the broker printed."""
        return self.directory / "broker.log"

    @abstractmethod
    def start(self) -> None:
        """Start it and return when it answers; raise `BrokerError` when it does not."""

    @abstractmethod
    def stop(self) -> None:
        """Stop it and return when it is gone."""

    def restart(self) -> None:
        """Kill it without warning and start it again at the same address (blocking: off the event loop, please)."""
        self.stop()
        self.start()


def apart(work: Coroutine[Any, Any, object]) -> object:
    """Run a coroutine to its end in a thread with a loop of its own, whatever loop pytest has here; its result."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def answers(bootstrap: str, port: int) -> bool:
    """Say whether a broker answers a metadata request at this address now."""
    return ports.is_open(port) and apart(probe.cluster_id(bootstrap)) is not None


def tail(log: Path, lines: int = 15) -> str:
    """Return the end of a log, for an error message."""
    if not log.exists():
        return "(it printed nothing)"
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
