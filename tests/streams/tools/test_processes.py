"""Tools in real child processes: killed at their limit, replaced when they die, and never called twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from processors import ToolContext
from processors.errors import DepsImportError
from streams.tools.answers import CRASHED, TOO_LATE, ToolAnswer
from streams.tools.ports import ToolJob
from streams.tools.processes import NoToolsError, ToolProcesses

ROOT = Path(__file__).resolve().parents[3]
BENCH = "tests.streams.tools.bench"


def host(attribute: str = "deps", **options: Any) -> ToolProcesses:
    """Return a host of the tools beside this module; not started."""
    fatal: list[BaseException] = []
    given: dict[str, Any] = {"workers": 1, "max_chars": 1000, "on_fatal": fatal.append, "now": time.time, **options}
    return ToolProcesses(f"{BENCH}:{attribute}", paths=(ROOT,), **given)


@pytest_asyncio.fixture
async def tools() -> AsyncIterator[ToolProcesses]:
    """Give a started host with one process for sync tools."""
    running = host()
    await running.start()
    yield running
    await running.stop()


def job(name: str, arguments: str = "{}", deadline_at: float | None = None) -> ToolJob:
    """Return a call."""
    return ToolJob(name, arguments, ToolContext(), deadline_at)


def said(path: Path) -> str:
    """Return a call's arguments that name a file."""
    return f'{{"path": "{path}"}}'


async def test_tools_of_both_sorts_run(tools: ToolProcesses) -> None:
    """In other processes than this one; their limits are known here."""
    sync, beside = await asyncio.gather(tools.run(job("pid")), tools.run(job("async_pid")))
    assert sync.content != beside.content
    assert {name: spec.is_async for name, spec in tools.tools.items() if name.endswith("pid")} == {
        "pid": False,
        "async_pid": True,
    }


async def test_a_sync_tool_that_hangs_is_killed_and_its_place_taken(tools: ToolProcesses) -> None:
    """The next call of a sync tool runs in a new process; an async one never waits for it."""
    before = await tools.run(job("pid"))
    hanging = asyncio.create_task(tools.run(job("hang")))
    waiting = asyncio.create_task(tools.run(job("pid")))
    assert (await tools.run(job("async_pid"))).outcome == "answered"
    assert not hanging.done()
    assert (await hanging).outcome == "timed_out"
    after = await waiting
    assert after.outcome == "answered"
    assert after.content != before.content


async def test_an_async_tool_that_blocks_is_killed_and_its_neighbours_are_told(tools: ToolProcesses) -> None:
    """Whether they took effect nobody knows; new calls find a new process."""
    waiting = asyncio.create_task(tools.run(job("wait")))
    await asyncio.sleep(0.2)
    assert (await tools.run(job("block"))).outcome == "timed_out"
    assert await waiting == CRASHED
    assert (await tools.run(job("async_pid"))).outcome == "answered"


@pytest.mark.parametrize("name", ["crash", "async_crash"])
async def test_a_tool_that_takes_its_process_down_has_crashed(tools: ToolProcesses, name: str) -> None:
    """It is not called again, and others find a new process."""
    assert await tools.run(job(name)) == CRASHED
    answers = await asyncio.gather(tools.run(job("pid")), tools.run(job("async_pid")))
    assert {one.outcome for one in answers} == {"answered"}


async def test_cancelling_stops_an_async_tool_and_not_a_sync_one(tools: ToolProcesses, tmp_path: Path) -> None:
    """The process of the sync one takes new calls only after its end."""
    for name, ends in (("note_async", "stopped"), ("note", "ended")):
        path = tmp_path / name
        call = asyncio.create_task(tools.run(job(name, said(path))))
        async with asyncio.timeout(20):
            while not path.exists():  # noqa: ASYNC110 - a file is no event
                await asyncio.sleep(0.02)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        assert call.cancelled()
        await tools.run(job("pid" if name == "note" else "async_pid"))
        assert path.read_text() == f"began {ends}"


async def test_a_call_that_comes_too_late_is_not_made(tools: ToolProcesses, tmp_path: Path) -> None:
    """Whether it is late already, or has waited for a process until it was."""
    path = tmp_path / "noted"
    assert await tools.run(job("note", said(path), time.time() - 1)) == TOO_LATE
    hanging = asyncio.create_task(tools.run(job("hang")))
    await asyncio.sleep(0.1)
    assert await tools.run(job("note", said(path), time.time() + 0.1)) == TOO_LATE
    await hanging
    assert not path.exists()


async def test_a_tool_is_stopped_when_nobody_waits_any_more(tools: ToolProcesses) -> None:
    """At the turn's end, should that be before its own limit."""
    answer = await tools.run(job("wait", deadline_at=time.time() + 0.3))
    assert answer.outcome == "timed_out"


async def test_a_result_is_bounded_where_it_is_made(tools: ToolProcesses) -> None:
    """It never comes here."""
    answer = await tools.run(job("talk"))
    assert (answer.content, answer.failure) == (None, "ToolResultTooLargeError")


async def test_processes_are_started_for_what_there_is() -> None:
    """None for sync tools where all are async, and the other way round."""
    for attribute, call in (("all_async", "async_pid"), ("all_sync", "pid")):
        running = host(attribute, workers=2)
        await running.start()
        try:
            answers: list[ToolAnswer] = [await running.run(job(call)) for _ in range(4)]
            assert len({one.content for one in answers}) == (1 if attribute == "all_async" else 2)
        finally:
            await running.stop()


@pytest.mark.parametrize(("attribute", "error"), [("nothing", DepsImportError), ("no_tools", NoToolsError)])
async def test_a_host_without_tools_does_not_start(attribute: str, error: type[Exception]) -> None:
    """It says why."""
    running = host(attribute)
    with pytest.raises(error, match=attribute):
        await running.start()


async def test_a_process_that_cannot_be_replaced_is_fatal(tmp_path: Path) -> None:
    """The worker's next start says why, where people look."""
    fatal: asyncio.Queue[BaseException] = asyncio.Queue()
    module = tmp_path / "gone_soon.py"
    module.write_text("from tests.streams.tools.bench import all_sync as deps\n")
    given: dict[str, Any] = {"workers": 1, "max_chars": 100, "now": time.time, "paths": (ROOT, tmp_path)}
    running = ToolProcesses("gone_soon:deps", on_fatal=fatal.put_nowait, **given)
    await running.start()
    try:
        module.write_text("raise RuntimeError\n")
        assert await running.run(job("crash")) == CRASHED
        async with asyncio.timeout(60):
            assert isinstance(await fatal.get(), DepsImportError)
    finally:
        await running.stop()
