"""Other deaths than a plain kill: a zombie that does not know it lost its partitions, and model runners that die."""

from __future__ import annotations

import asyncio
from pathlib import Path

from processors.testing import run_gate
from streams.process import EXIT_FATAL
from tests.brokers.broker import Broker
from tests.integration import chains
from tests.integration.answers import answer
from tests.integration.pipeline import Pipeline
from tests.integration.test_killed_worker import FRAME_DELAY_S, FRAMES
from topics import names

DEPS = "tests.integration.chains:streaming"
TURNS = 12
#: Longer than the workers' session timeout, so that the group gives a paused worker's partitions away.
AWAY_S = 12.0


async def test_a_zombie_changes_nothing(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """A worker that is stopped past its session timeout and then goes on: every reader's text stays right."""
    undisturbed = {seed: run_gate(chains.streaming, answer(seed, FRAMES)).text for seed in range(TURNS)}
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processor_workers=1) as pipeline:
        zombie, _ = pipeline.start("turns", 2)
        pipeline.start("models")
        await pipeline.ready()
        turns = {
            await pipeline.submit(
                "hello", f"thread-{seed}", answer(seed, FRAMES), params={"delay_s": FRAME_DELAY_S * 3}
            ): seed
            for seed in range(TURNS)
        }
        await asyncio.sleep(2.0)
        zombie.pause()
        await asyncio.sleep(AWAY_S)
        zombie.resume()
        views = await pipeline.read(turns, timeout_s=90)
        # Whatever the zombie still sends must not change what is there: read once more after it had its chance.
        await asyncio.sleep(3.0)
        again = await pipeline.read(turns)
        assert zombie.process.poll() in (None, EXIT_FATAL)
    for turn, seed in turns.items():
        terminal = views[turn].terminal
        assert terminal is not None
        assert terminal.kind == "completed", terminal
        assert views[turn].text == undisturbed[seed]
        assert again[turn].text == undisturbed[seed]


async def test_a_dead_model_runner_costs_an_attempt_and_no_text(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """The successor reports the calls as interrupted; the reader ends with the second attempt's text, whole."""
    script = [{"text": f"first {number} ", "attempt": 0} for number in range(40)]
    script += [{"text": f"second {number} ", "attempt": 1} for number in range(10)]
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processor_workers=1) as pipeline:
        pipeline.start("turns")
        doomed, *_ = pipeline.start("models")
        await pipeline.ready()
        turns = [
            await pipeline.submit("hello", f"thread-{number}", script, params={"delay_s": 0.1}) for number in range(6)
        ]
        await asyncio.sleep(1.5)
        doomed.kill()
        pipeline.start("models")
        views = await pipeline.read(turns, timeout_s=90)
        prompts = [record for record in await pipeline.records(names.PROMPTS) if record.turn in turns]
        usage = {record.id: record for record in await pipeline.records(names.USAGE) if record.turn in turns}
    for turn in turns:
        terminal = views[turn].terminal
        assert terminal is not None
        assert terminal.kind == "completed", terminal
        assert views[turn].text == "".join(f"second {number} " for number in range(10))
        assert sorted(record.attempt for record in prompts if record.turn == turn) == [0, 1]
        assert usage[f"{turn}/0/0"].estimated
        assert usage[f"{turn}/0/0"].outcome == "failed"


async def test_workers_that_come_and_go_are_not_noticed(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """A worker joins, and the first one is told to stop: texts are right, and nobody ends with an error."""
    undisturbed = {seed: run_gate(chains.streaming, answer(seed, FRAMES)).text for seed in range(TURNS)}
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processor_workers=1) as pipeline:
        first, *_ = pipeline.start("turns")
        pipeline.start("models")
        await pipeline.ready()
        turns = {
            await pipeline.submit(
                "hello", f"thread-{seed}", answer(seed, FRAMES), params={"delay_s": FRAME_DELAY_S * 2}
            ): seed
            for seed in range(TURNS)
        }
        await asyncio.sleep(1.0)
        pipeline.start("turns")
        await asyncio.sleep(5.0)
        assert await asyncio.to_thread(first.stop) == 0
        views = await pipeline.read(turns, timeout_s=90)
    assert {turns[turn]: view.text for turn, view in views.items()} == undisturbed
