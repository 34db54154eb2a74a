"""What workers need from outside, one protocol each, so that they run the same on Kafka and in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

#: The key and the value of a record to send; a record without a value clears its key.
KeyValue = tuple[bytes | None, bytes | None]


class Run(NamedTuple):
    """Records that were handed over together: `first` gives the offset of the first of them, the others follow it.

    The future is done once all replicas have all `length` of them.
    """

    first: asyncio.Future[int]
    length: int


async def offsets_of(runs: Iterable[Run]) -> list[int]:
    """Return the offsets of all records of `runs`, in order, once the broker has them.

    Raises whatever the producer raises.
    """
    found: list[int] = []
    for run in runs:
        first = await run.first
        found.extend(range(first, first + run.length))
    return found


class Producer(Protocol):
    """Publishes records."""

    async def send(self, topic: str, partition: int | None, key: bytes | None, value: bytes) -> asyncio.Future[int]:
        """Hand a record to the broker's client, in order; the future gives its offset once all replicas have it."""

    async def send_all(self, topic: str, partition: int, records: Sequence[KeyValue]) -> Sequence[Run]:
        """Hand records to the broker's client, in order, in as few pieces as they fit into."""


class Reader(Protocol):
    """Reads single records back."""

    async def fetch(self, topic: str, partition: int, offset: int) -> bytes | None:
        """Return the value of one record, None if it is gone."""


#: The current time, in seconds since the Unix epoch.
Clock = Callable[[], float]

#: Called with what went wrong when going on would break a promise: ends the process, and does not return to its caller.
Fatal = Callable[[BaseException], None]
