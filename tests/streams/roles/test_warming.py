"""Warming up at a worker's start: all chains that turns begin with, and not for longer than a start may take."""

from __future__ import annotations

import asyncio

from processors import Deps
from processors.builtin import emails
from processors.testing import gate_policy
from streams.roles.warming import warm_up
from streams.turns.chain_table import TurnChains


def chains() -> TurnChains:
    """Return a set of chains with one scanner."""
    deps = Deps(output_processors=[emails()])
    return TurnChains(gate_policy(deps), None, deps.scanners())


def test_chains_with_scanners_are_warmed_up() -> None:
    """Each set reads as many texts; one without scanners reads none."""
    unscanned = TurnChains(gate_policy(Deps()), None)
    one = asyncio.run(warm_up([chains()], limit_s=60))
    assert one > 1
    assert asyncio.run(warm_up([chains(), unscanned, chains()], limit_s=60)) == 2 * one


def test_no_time_allows_for_one_text() -> None:
    """What takes too long ends after the text that it is in."""
    assert asyncio.run(warm_up([chains(), chains()], limit_s=0)) == 1
