"""Warming a worker up before it takes partitions: no answer has to wait for what its scanners could have learned before."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable

from processors.warming import warming
from streams.turns.chain_table import TurnChains

log = logging.getLogger(__name__)

#: Longer than warming up usually takes, and no more than a worker's start may wait for it, in seconds.
LIMIT_S = 3.0


async def warm_up(chains: Iterable[TurnChains], limit_s: float = LIMIT_S) -> int:
    """Have the scanners of these chains read made-up texts, for at most `limit_s` seconds; return how many they read."""
    began = time.monotonic()
    read = 0
    for one in chains:
        if one.open_scanner is None:
            continue
        for _ in warming(one.open_scanner):
            read += 1
            if time.monotonic() - began > limit_s:
                return read
            # Who else is at work in this process has a turn between any two texts.
            await asyncio.sleep(0)
    log.info("scanners are warm: %d texts in %.2f s", read, time.monotonic() - began)
    return read
