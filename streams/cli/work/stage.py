"""A broker to work on: one of our own, or the one that is named."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from streams.brokers.embedded import EmbeddedBroker
from streams.settings import EMBEDDED

_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the broker is; `own` is the broker if it is ours."""

    bootstrap: str
    own: EmbeddedBroker | None

    async def lost(self) -> None:
        """Wait until a broker of our own has died; forever with another one."""
        while self.own is None or self.own.running:  # noqa: ASYNC110 - a process of another owner has no event to await
            await asyncio.sleep(_POLL_S)


@contextlib.asynccontextmanager
async def stage(broker: str, port: int | None = None) -> AsyncIterator[Stage]:
    """Yield the broker at `broker`, or for `embedded` one that is started now and stopped afterwards.

    One of our own takes `port`, or any that is free.

    Raises:
        EmbeddedBrokerError: our own cannot be had.
    """
    if broker != EMBEDDED:
        yield Stage(broker, None)
        return
    async with EmbeddedBroker(port=port) as own:
        yield Stage(own.bootstrap, own)


@contextlib.contextmanager
def interrupts() -> Iterator[asyncio.Event]:
    """Yield an event that Ctrl-C, SIGTERM and a closed terminal set, instead of ending the process at once."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for name in signals:
        loop.add_signal_handler(name, told.set)
    try:
        yield told
    finally:
        for name in signals:
            loop.remove_signal_handler(name)
