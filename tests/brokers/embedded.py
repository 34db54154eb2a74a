"""The broker that turngate brings along, as the tests use it."""

from __future__ import annotations

from pathlib import Path

from streams.brokers.embedded import EmbeddedBroker as _EmbeddedBroker
from tests.brokers.broker import Broker, apart


def why_not() -> str | None:
    """Never anything: the tests' own requirements include it, so that its absence is a failure and not a skip."""
    return None


class EmbeddedBroker(Broker):
    """Tansu, in memory."""

    name = "embedded"

    def __init__(self, directory: Path) -> None:
        """Log into `directory`; there is no data on disk."""
        super().__init__(directory)
        self._broker = _EmbeddedBroker(port=self.port, log=self.log)

    def start(self) -> None:
        """Start it and return when it answers; raise `EmbeddedBrokerError` when it does not."""
        apart(self._broker.start())

    def stop(self) -> None:
        """Kill it, with all it holds."""
        apart(self._broker.stop())
