"""Promise 2, its first proof: a turn worker dies in the middle of twenty answers and no reader can tell."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from processors.testing import run_gate
from tests.brokers.broker import Broker
from tests.integration import chains
from tests.integration.answers import answer
from tests.integration.pipeline import Pipeline

TURNS = 20
FRAMES = 60
FRAME_DELAY_S = 0.08


@pytest.mark.parametrize("deps", ["streaming", "whole", None])
async def test_no_reader_can_tell_that_a_worker_was_killed(
    broker: Broker, prefix: str, tmp_path: Path, deps: str | None
) -> None:
    """Two turn workers, twenty open turns, `kill -9` at a random moment: every text is the undisturbed run's."""
    spec = f"tests.integration.chains:{deps}" if deps else None
    undisturbed = {
        seed: run_gate(getattr(chains, deps) if deps else [], answer(seed, FRAMES)).text for seed in range(TURNS)
    }
    moment = random.Random(prefix).uniform(1.0, FRAMES * FRAME_DELAY_S - 1.0)
    async with Pipeline(broker.bootstrap, prefix, tmp_path, spec, processor_workers=1) as pipeline:
        doomed, _ = pipeline.start("turns", 2)
        pipeline.start("models")
        await pipeline.ready()
        turns = {
            await pipeline.submit(
                "hello", f"thread-{seed}", answer(seed, FRAMES), params={"delay_s": FRAME_DELAY_S}
            ): seed
            for seed in range(TURNS)
        }
        await asyncio.sleep(moment)
        doomed.kill()
        views = await pipeline.read(turns, timeout_s=90)
    for turn, seed in turns.items():
        terminal = views[turn].terminal
        assert terminal is not None
        assert terminal.kind == "completed", terminal
        assert views[turn].text == undisturbed[seed]
