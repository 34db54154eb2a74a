"""The broker that a group is measured on: the embedded one, an Apache Kafka from its jars, or one that runs already."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from streams.brokers.embedded import EmbeddedBroker

EMBEDDED, APACHE = "embedded", "apache"


@asynccontextmanager
async def broker(which: str) -> AsyncIterator[str]:
    """Yield the address of a broker, one of its own for this block unless `which` is an address.

    Raises:
        SystemExit: this machine cannot run Apache Kafka; it says why.
    """
    if which == EMBEDDED:
        async with EmbeddedBroker() as own:
            yield own.bootstrap
    elif which == APACHE:
        # The tests know how to start one, and nothing but tests and measurements does.
        from tests.brokers import apache  # noqa: PLC0415 - it is not installed with the packages

        if (reason := apache.why_not()) is not None:
            raise SystemExit(f"--broker {APACHE}: {reason}")
        with tempfile.TemporaryDirectory() as directory:
            kafka = apache.ApacheBroker(Path(directory))
            await asyncio.to_thread(kafka.start)
            try:
                yield kafka.bootstrap
            finally:
                await asyncio.to_thread(kafka.stop)
    else:
        yield which


def usual() -> str:
    """Return the broker that is measured on where none is named: Apache Kafka where this machine can run it."""
    from tests.brokers import apache  # noqa: PLC0415 - as above

    return EMBEDDED if apache.why_not() else APACHE
