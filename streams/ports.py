"""What workers need from outside, one protocol each, so that they run the same on Kafka and in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from streams.journal.runs import Handed, Run
from topics.trace_context import Headers


class Producer(Protocol):
    """Publishes records."""

    async def send(
        self, topic: str, partition: int | None, key: bytes | None, value: bytes, headers: Headers = ()
    ) -> asyncio.Future[int]:
        """Hand a record to the broker's client, in order; the future gives its offset once all replicas have it."""

    async def send_all(self, topic: str, partition: int, records: Sequence[Handed]) -> Sequence[Run]:
        """Hand records to the broker's client, in order, in as few pieces as they fit into."""


class Reader(Protocol):
    """Reads single records back."""

    async def fetch(self, topic: str, partition: int, offset: int) -> bytes | None:
        """Return the value of one record, None if it is gone."""


#: The current time, in seconds since the Unix epoch.
Clock = Callable[[], float]

#: Called with what went wrong when going on would break a promise: ends the process, and does not return to its caller.
Fatal = Callable[[BaseException], None]
