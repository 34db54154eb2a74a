"""Budgets and rate limits in a real pipeline: what one turn spends is known to the next, on whichever worker that runs."""

from __future__ import annotations

import asyncio
import re
import urllib.request
from pathlib import Path
from typing import Any

from streams.brokers import ports
from tests.brokers.broker import Broker
from tests.integration.pipeline import READY_S, Pipeline, Worker
from tests.integration.spenders import CALL
from topics import names
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.records import UsageRecord

ENOUGH = {"finish_reason": "stop", "usage": {"prompt_tokens": CALL - 20, "completion_tokens": 20, "total_tokens": CALL}}
ASK = {
    "tool_call_delta": {"index": 0, "id": "1", "name": "look", "arguments": '{"what": "it"}'},
    "finish_reason": "tool_calls",
    "usage": ENOUGH["usage"],
}


async def one(pipeline: Pipeline, thread: str, script: list[object], **fields: Any) -> TurnView:
    """Submit a turn and return it once it has ended."""
    turn = await pipeline.submit("hello", thread, script, **fields)
    return (await pipeline.read([turn], timeout_s=READY_S))[turn]


def ending(view: TurnView) -> Any:
    """Return a turn's terminal frame."""
    assert view.terminal is not None
    return view.terminal


async def usage_of(pipeline: Pipeline, turn: TurnKey) -> dict[str, UsageRecord]:
    """Return what was spent in a turn, by id."""
    return {record.id: record for record in await pipeline.records(names.USAGE) if record.turn == turn}


async def test_a_used_up_budget_blocks_the_next_turn_and_ends_the_one_that_goes_on(
    broker: Broker, prefix: str, tmp_path: Path
) -> None:
    """Processors' own calls count with the model's; and a worker that starts knows what was spent before it."""
    deps = "tests.integration.spenders:budgeted"
    async with Pipeline(broker.bootstrap, prefix, tmp_path, deps, processor_workers=1) as pipeline:
        (worker,) = pipeline.start("turns")
        pipeline.start("models")
        pipeline.start("tools")
        first = await one(pipeline, "a", ["yes", ENOUGH], tenant="single")
        assert ending(first).kind == "completed"
        spent = await usage_of(pipeline, first.turn)
        assert {record.processor: (record.usage.total_tokens, record.model) for record in spent.values()} == {
            None: (CALL, None),
            "judge": (CALL, "guard"),
        }
        second = ending(await one(pipeline, "b", ["yes", ENOUGH], tenant="single"))
        assert (second.kind, second.processor) == ("blocked", "token-budget")
        # Every step of this turn asks for a tool: after two there is nothing left, and the third does not begin.
        third = await one(pipeline, "c", [ASK], tenant="steps")
        assert (ending(third).kind, ending(third).phase, ending(third).step) == ("failed", "governance", 1)
        assert {record.step for record in (await usage_of(pipeline, third.turn)).values()} == {0, 1}
        worker.stop()
        pipeline.start("turns")
        again = ending(await one(pipeline, "d", ["yes", ENOUGH], tenant="single"))
        assert (again.kind, again.processor) == ("blocked", "token-budget")
        other = ending(await one(pipeline, "e", ["yes", ENOUGH], tenant="other"))
        assert other.kind == "completed"


async def test_a_user_is_limited_over_two_threads_and_two_workers(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """What one worker's turns were is known to the other once it has followed the topic; other users are not held up."""
    deps = "tests.integration.spenders:limited"
    async with Pipeline(broker.bootstrap, prefix, tmp_path, deps, processor_workers=1, partitions=2) as pipeline:
        metrics = [ports.free_port(), ports.free_port()]
        workers = [pipeline.start("turns", metrics_port=port)[0] for port in metrics]
        pipeline.start("models")
        async with asyncio.timeout(READY_S):
            while sorted(map(_partitions, workers)) != ["0", "1"]:  # noqa: ASYNC110 - a log is no event
                await asyncio.sleep(0.2)
        threads = pipeline.threads_of_every_partition()
        ann: dict[str, Any] = {"user": {"id": "ann"}}
        for thread in (threads[0], threads[1], threads[0]):
            assert ending(await one(pipeline, thread, ["yes", ENOUGH], **ann)).kind == "completed"
        async with asyncio.timeout(READY_S):
            while not all(_counted(port) == 3 for port in metrics):  # noqa: ASYNC110 - nobody tells when it was counted
                await asyncio.sleep(0.2)
        for thread in threads:
            frame = ending(await one(pipeline, thread, ["yes", ENOUGH], **ann))
            assert (frame.kind, frame.processor, frame.response) == ("blocked", "rate-limit", "Slowly.")
        bob = ending(await one(pipeline, threads[0], ["yes", ENOUGH], user={"id": "bob"}))
        assert bob.kind == "completed"
        assert sorted(map(_partitions, workers)) == ["0", "1"]


def _partitions(worker: Worker) -> str:
    """Return which partitions a worker has claimed last."""
    claims = re.findall(r": claimed \S+ partitions \[(.*?)\]", worker.log.read_text(encoding="utf-8"))
    return str(claims[-1]) if claims else ""


def _counted(port: int) -> float:
    """Return how many usage records a worker has taken from the topic."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("turngate_usage_lag_seconds_count"))
