"""`turngate topics drain`: what is left to do on a prefix: before a worker runs, while turns are open, at the end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.streams.cli.command import Done, turngate
from topics import codec, names
from topics.ids import TurnKey
from topics.records import TurnRequest

ASKED = 5


async def drain(pipeline: Pipeline, *arguments: str) -> Done:
    """Run the command on the pipeline's prefix."""
    at = {"TURNGATE_BROKER": pipeline.settings.broker, "TURNGATE_PREFIX": pipeline.names.prefix}
    return await asyncio.to_thread(turngate, "topics", "drain", "--json", *arguments, cwd=pipeline.directory, **at)


async def left(pipeline: Pipeline, *arguments: str) -> tuple[int, int]:
    """Return how many turns are open and how many requests wait; checks that the status says whether any do."""
    done = await drain(pipeline, *arguments)
    (row,) = done.rows
    assert done.status == int(not row["drained"])
    assert row["drained"] == (not row["open_turns"] and not row["requests_waiting"])
    assert row["prefix"] == pipeline.names.prefix
    return row["open_turns"], row["requests_waiting"]


async def test_a_prefix_is_drained_when_no_request_waits_and_no_turn_is_open(
    broker: Broker, prefix: str, tmp_path: Path
) -> None:
    """Whether a worker runs is no matter: what is asked for and open is told from the topics."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, partitions=2) as pipeline:
        assert await left(pipeline) == (0, 0)
        turns = [await pipeline.client.submit("hello", thread_id=f"thread-{number}") for number in range(ASKED)]
        # Of no concern: a request that is refused, a cancel, and one that comes twice.
        request = TurnRequest.model_validate({**turns[0]._asdict(), "message": "hello"})
        await pipeline.send_raw(names.REQUESTS, turns[0], codec.encode(request))
        await pipeline.send_raw(names.REQUESTS, turns[1], b"no json")
        await pipeline.client.cancel(TurnKey("default", "thread-0", "another"))
        done = await drain(pipeline, "--wait", "--timeout", "2")
        assert done.rows[0]["requests_waiting"] == ASKED
        assert done.status == 1
        assert f"0 open turns, {ASKED} requests waiting" in done.err
        assert "deadline" in done.err

        (worker,) = pipeline.start("turns")
        async with asyncio.timeout(60):
            while await left(pipeline) != (ASKED, 0):
                pass
        worker.kill()
        assert await left(pipeline) == (ASKED, 0), "nobody works on them now, and they are open"

        pipeline.start("turns")
        waiting = asyncio.create_task(drain(pipeline, "--wait", "--timeout", "50"))
        await asyncio.sleep(1)
        for turn in turns:
            end = {**turn._asdict(), "seq": 0, "text": "Hello.", "finish_reason": "stop"}
            await pipeline.send_raw(names.FRAMES, turn, json.dumps(end).encode())
        finished = await waiting
        assert (finished.status, finished.rows[0]["drained"]) == (0, True), finished.err
