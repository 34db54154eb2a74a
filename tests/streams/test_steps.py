"""Long work is done in steps: others have their turn in between."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from streams import steps
from streams.steps import Steps, in_steps
from tests.streams.at_once import at_once


def counting(done: list[int], count: int = 5) -> Steps[str]:
    """Return work of `count` steps."""
    for number in range(count):
        yield
        done.append(number)
    return "all"


async def test_others_have_their_turn_between_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here after each, because no time may pass without a pause."""
    monkeypatch.setattr(steps, "AT_A_TIME_S", 0.0)
    done: list[int] = []
    seen: set[int] = set()

    async def others() -> None:
        while True:
            seen.add(len(done))
            await asyncio.sleep(0)

    beside = asyncio.create_task(others())
    assert await in_steps(counting(done)) == "all"
    beside.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await beside
    assert seen == {0, 1, 2, 3, 4}


async def test_short_work_is_done_without_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause for each of many small steps would take longer than the steps."""
    monkeypatch.setattr(steps, "AT_A_TIME_S", 3_600.0)
    done: list[int] = []
    called: list[int] = []
    asyncio.get_running_loop().call_soon(lambda: called.append(len(done)))
    assert await in_steps(counting(done)) == "all"
    assert called == []


async def test_what_a_step_raises_is_raised() -> None:
    """A journal that cannot be read must stop the worker."""

    def broken() -> Steps[None]:
        yield
        raise LookupError("unreadable")

    with pytest.raises(LookupError, match="unreadable"):
        await in_steps(broken())


def test_all_at_once_comes_to_the_same() -> None:
    """Tests that have no loop do it so."""
    assert at_once(counting([])) == "all"
