"""Contenders side by side: who is measured when, and what becomes of those who cannot or do not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bench.figures import Measure
from bench.rounds import AbsentError, Contender, FailedError, Setting, Values, side_by_side

SPEED = Measure("speed", "frames/s")
Run = Callable[[], Awaitable[Values]]


def setting(rounds: int = 3, *, peers: bool = True) -> Setting:
    """Return a setting that says nothing."""
    return Setting("nowhere:1", rounds, quick=True, peers=peers, say=lambda _: None)


async def test_each_round_measures_everyone_once_and_begins_with_another() -> None:
    """So that nobody is always measured behind the same one."""
    order: list[str] = []

    def runs(name: str) -> Run:
        async def run() -> Values:
            order.append(name)
            return {SPEED: float(len(order))}

        return run

    found = await side_by_side("g", [Contender(name, runs(name), base="a") for name in "abc"], setting())
    assert "".join(order) == "abcbcacab"
    assert [figure.values for figure in found.figures] == [(1.0, 6.0, 8.0), (2.0, 4.0, 9.0), (3.0, 5.0, 7.0)]
    assert {figure.base for figure in found.figures} == {"a"}
    assert not found.absent
    assert not found.failed


async def test_who_is_not_installed_is_absent_and_who_fails_has_failed() -> None:
    """Both are left out from then on, with what is known; the others keep their figures."""
    tries = 0

    async def fine() -> Values:
        return {SPEED: 1.0}

    async def missing() -> Values:
        raise AbsentError("not installed")

    async def fails() -> Values:
        nonlocal tries
        tries += 1
        if tries > 1:
            raise FailedError("it ended")
        return {SPEED: 2.0}

    contenders = [Contender("fine", fine, base="missing"), Contender("missing", missing), Contender("fails", fails)]
    found = await side_by_side("g", contenders, setting())
    assert [(one.contender, one.why) for one in found.absent] == [("missing", "not installed")]
    assert [(one.contender, one.why) for one in found.failed] == [("fails", "failed: FailedError: it ended")]
    assert [(figure.contender, figure.values, figure.base) for figure in found.figures] == [("fine", (1.0,) * 3, None)]
    assert tries == 2


async def test_who_takes_too_long_has_failed() -> None:
    """A contender that hangs does not hang the run."""

    async def hangs() -> Values:
        await asyncio.Event().wait()
        return {}

    found = await side_by_side("g", [Contender("hangs", hangs)], setting(), limit_s=0.01)
    assert [one.why.partition(":")[0] for one in found.failed] == ["failed"]


async def test_peers_can_be_left_out() -> None:
    """As those that are not asked for, they are not absent."""

    async def fine() -> Values:
        return {SPEED: 1.0}

    contenders = [Contender("ours", fine, base="theirs"), Contender("theirs", fine, peer=True)]
    found = await side_by_side("g", contenders, setting(1, peers=False))
    assert [(figure.contender, figure.base) for figure in found.figures] == [("ours", None)]
    assert not found.absent
