"""Records that are handed to the producer together, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

#: A record to send: its key, its value, without which it clears that key, and its headers.
Handed = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]


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
