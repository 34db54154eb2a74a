"""Tool runners as processes on a real broker: calls in, one result each, whatever dies."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

from streams.brokers import ports
from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from topics import codec, names
from topics.ids import TurnKey
from topics.records import CancelCall, ToolCallRequest, ToolResult

DEPS = "tests.integration.toolbox:deps"


def turn_of(number: int) -> TurnKey:
    """Return a turn of a thread of its own."""
    return TurnKey("default", f"thread-{number}", f"turn-{number}")


async def call(pipeline: Pipeline, turn: TurnKey, call_id: str, name: str, **arguments: Any) -> None:
    """Publish a tool call, as a turn worker would."""
    partition = turn.thread.partition(pipeline.client.partitions)
    request = ToolCallRequest.model_validate(
        {
            "tenant": turn.tenant,
            "thread_id": turn.thread_id,
            "turn_id": turn.turn_id,
            "partition": partition,
            "call": {"id": call_id, "name": name, "arguments": json.dumps(arguments)},
            "agent": "clerk",
            "user": {"id": "ann"},
        }
    )
    await pipeline.send_raw(names.TOOL_CALLS, turn, codec.encode(request), with_ids=False)


async def results(pipeline: Pipeline, *turns: TurnKey, count: int, timeout_s: float = 60.0) -> list[ToolResult]:
    """Return the results of these turns, once there are so many of them."""
    found: list[ToolResult] = []

    def enough(records: list[Any]) -> bool:
        found[:] = [one for one in records if one.turn in turns]
        return len(found) >= count

    await pipeline.wait_for_records(names.TOOL_RESULTS, enough, timeout_s=timeout_s)
    return found


async def until_noted(path: Path, lines: int) -> list[str]:
    """Return what tools have noted in a file, once it has so many lines."""
    async with asyncio.timeout(60):
        while len(noted(path)) < lines:  # noqa: ASYNC110 - a file is no event
            await asyncio.sleep(0.05)
    return noted(path)


def served(port: int) -> str:
    """Return what a worker serves at /metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def noted(path: Path) -> list[str]:
    """Return what tools have noted in a file."""
    return path.read_text().splitlines() if path.exists() else []


async def test_calls_are_answered_whatever_the_tools_do(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Each with one result where the call says, and an error that quotes nothing; the runner lives through all of it."""
    port = ports.free_port()
    more = {"max_tool_result_bytes": 4096, "metrics_port": port}
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, **more) as pipeline:
        (runner,) = pipeline.start("tools")
        turn = turn_of(1)
        private = "a very private sentence"
        await call(pipeline, turn, "1/a", "add", a=2, b=3)
        await call(pipeline, turn, "2", "who", greeting="hello")
        await call(pipeline, turn, "3", "fail", secret=private)
        await call(pipeline, turn, "4", "add", a=2, b=private)
        await call(pipeline, turn, "5", "nothing-of-the-kind")
        await call(pipeline, turn, "6", "hang")
        await call(pipeline, turn, "7", "die")
        await call(pipeline, turn, "8", "talk", length=5000)
        await call(pipeline, turn, "9", "add", a=1, b=1)
        await call(pipeline, turn, "1/a", "add", a=2, b=3)
        found = await results(pipeline, turn, count=9)
        assert runner.process.poll() is None
        log = runner.log.read_text()
        metrics = await asyncio.to_thread(served, port)
    assert sorted(one.tool_call_id for one in found) == ["1/a", *"23456789"]
    by_id = {one.tool_call_id: one for one in found}
    assert by_id["1/a"].content == "5"
    assert by_id["2"].content == "hello ann of default at clerk, default/thread-1/turn-1/0/0/2"
    assert by_id["9"].content == "2"
    errors = {one: str(by_id[one].error) for one in "345678"}
    assert {one: error.partition(":")[0] for one, error in errors.items()} == {
        "3": "LookupError",
        "4": "ToolArgumentsError",
        "5": "UnknownToolError",
        "6": "ToolTimeoutError",
        "7": "ToolCrashedError",
        "8": "ToolResultTooLargeError",
    }
    assert not any(private in error for error in errors.values())
    assert private not in log
    assert "nothing-of-the-kind" not in log
    assert 'turngate_tool_calls_total{outcome="answered",tool="add"} 2.0' in metrics
    assert 'turngate_tool_calls_total{outcome="refused",tool=""} 1.0' in metrics


async def test_a_killed_runner_leaves_one_interrupted_result(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """The successor reports the call that was in the middle, runs nothing again, and takes new calls."""
    work = tmp_path / "noted"
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS) as pipeline:
        (doomed,) = pipeline.start("tools")
        turn = turn_of(1)
        await call(pipeline, turn, "before", "add", a=1, b=1)
        await results(pipeline, turn, count=1)
        await call(pipeline, turn, "slow", "work", path=str(work), seconds=30)
        await until_noted(work, 1)
        doomed.kill()
        pipeline.start("tools")
        await call(pipeline, turn, "after", "add", a=2, b=2)
        await results(pipeline, turn, count=3)
        await asyncio.sleep(1.0)
        found = await results(pipeline, turn, count=3)
    assert {one.tool_call_id: one.content for one in found} == {"before": "2", "slow": None, "after": "4"}
    assert len(found) == 3
    (interrupted,) = [one.error for one in found if one.tool_call_id == "slow"]
    assert interrupted == "ToolInterruptedError: interrupted: it may or may not have taken effect"
    assert noted(work) == ["began"]


async def test_calls_of_one_step_run_at_once(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """Async ones each wait for the other; so do sync ones, which hang beside them without holding anything up."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS) as pipeline:
        pipeline.start("tools")
        turn = turn_of(1)
        work = tmp_path / "noted"
        await call(pipeline, turn, "s1", "work", path=str(work), seconds=20)
        await call(pipeline, turn, "s2", "work", path=str(work), seconds=20)
        assert await until_noted(work, 2) == ["began", "began"]
        await call(pipeline, turn, "a", "meet", directory=str(tmp_path), me="left", other="right")
        await call(pipeline, turn, "b", "meet", directory=str(tmp_path), me="right", other="left")
        found = await results(pipeline, turn, count=2)
    assert {one.tool_call_id: one.content for one in found} == {"a": "left met right", "b": "right met left"}


async def test_a_cancel_stops_an_async_tool(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """And only the attempt's calls; a sync one's result is dropped."""
    waited, worked = tmp_path / "noted", tmp_path / "worked"
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS) as pipeline:
        pipeline.start("tools")
        turn = turn_of(1)
        await call(pipeline, turn, "async", "wait", path=str(waited))
        await call(pipeline, turn, "sync", "work", path=str(worked), seconds=3)
        await until_noted(waited, 1)
        await until_noted(worked, 1)
        partition = turn.thread.partition(pipeline.client.partitions)
        cancel = CancelCall(thread_id=turn.thread_id, turn_id=turn.turn_id, partition=partition)
        await pipeline.send_raw(names.CANCELS, turn, codec.encode(cancel), with_ids=False)
        found = await results(pipeline, turn, count=2)
        assert await until_noted(waited, 2) == ["waits", "stopped"]
        assert await until_noted(worked, 2) == ["began", "ended"]
        await asyncio.sleep(1.0)
        assert len(await results(pipeline, turn, count=2)) == 2
    assert {str(one.error).partition(":")[0] for one in found} == {"ToolCancelledError"}


async def test_a_record_that_cannot_be_read_is_dead_lettered(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """The calls behind it are answered."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS) as pipeline:
        pipeline.start("tools")
        turn = turn_of(1)
        elsewhere = (turn.thread.partition(pipeline.client.partitions) + 1) % pipeline.client.partitions
        await pipeline.send_raw(names.TOOL_CALLS, turn, b"not json", with_ids=False)
        await pipeline.send_raw(names.TOOL_CALLS, turn, None)
        await pipeline.send_raw(names.TOOL_CALLS, turn, b'{"partition":%d,"call":{"id":"x","name":"add"}}' % elsewhere)
        await call(pipeline, turn, "good", "add", a=1, b=1)
        (good,) = await results(pipeline, turn, count=1)
        letters = await pipeline.wait_for_records(names.DEAD_LETTERS, lambda found: len(found) >= 3)
    assert good.content == "2"
    assert [one.error for one in letters] == ["MalformedRecordError", "MalformedRecordError", "WrongPartitionError"]
    assert {one.origin_topic for one in letters} == {pipeline.names.topic(names.TOOL_CALLS)}
