"""Turns that run out of time, and calls that nobody waits for any more: nothing held gets out, and the provider is let go.

The released topic is looked at record by record, with whatever stands on it, not as a reader folds it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.streams.models.model_server import Exchange, chunk, model_server
from topics import names
from topics.ids import TurnKey
from topics.records import FailedFrame, UsageRecord

DEPS = "tests.integration.chains:streaming"
#: What the widest member of the chain holds back, in characters.
HELD = 40
SHOWN = "This much of the answer was judged while the model wrote on, and readers have it. "
HIDDEN = "Then write to bob@example.com, who never heard of it."
SETTLED = (SHOWN + HIDDEN).replace("bob@example.com", "[email]")
CHARS_PER_TOKEN = 4


async def texts_of(pipeline: Pipeline, turns: Iterable[TurnKey]) -> dict[TurnKey, set[tuple[int, str]]]:
    """Return every text that was ever released of these turns, with its offset."""
    found: dict[TurnKey, set[tuple[int, str]]] = {turn: set() for turn in turns}
    for record in await pipeline.records(names.RELEASED_FRAMES):
        if record.turn in found:
            assert getattr(record, "reply", None) is None, "none of these turns is answered"
            text = getattr(record, "text", "")
            found[record.turn] |= {(record.offset, text)} if text else set()
    return found


def assert_all_of(texts: set[tuple[int, str]], shown: str) -> None:
    """Check that texts are pieces of `shown` at their places, and all of it."""
    assert all(shown[offset : offset + len(text)] == text for offset, text in texts), "something else got out"
    assert max((offset + len(text) for offset, text in texts), default=0) == len(shown)


async def usage_of(pipeline: Pipeline, turns: Iterable[TurnKey]) -> dict[TurnKey, set[tuple[str, bool, int]]]:
    """Return what the usage of these turns' calls says: outcome, whether it is estimated, and tokens written."""
    found: dict[TurnKey, set[tuple[str, bool, int]]] = {turn: set() for turn in turns}
    for record in await pipeline.records(names.USAGE):
        if isinstance(record, UsageRecord) and record.turn in found:
            found[record.turn].add((record.outcome, record.estimated, record.usage.completion_tokens))
    return found


async def frame(pipeline: Pipeline, turn: TurnKey, seq: int, text: str) -> None:
    """Write a frame of a turn's answer."""
    await pipeline.send_raw(names.FRAMES, turn, json.dumps({"seq": seq, "text": text}).encode())


async def test_timers_survive_a_killed_worker_and_let_out_nothing_that_was_held(
    broker: Broker, prefix: str, tmp_path: Path
) -> None:
    """A model that stalls, one that never begins, a gap, a caller's deadline: their worker dies while they wait."""
    limits = {"idle_timeout_s": 4.0, "gap_timeout_s": 3.0}
    async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processor_workers=1, **limits) as pipeline:
        # No model runner: the test is the model.
        (doomed,) = pipeline.start("turns", idle_timeout_s=300.0, gap_timeout_s=300.0)
        ids = [f"{what}-{number}" for what in ("stalls", "gap", "late", "silent") for number in range(2)]
        turns = {
            name: await pipeline.client.submit(
                "hello", thread_id=name, turn_id=name, deadline_s=15.0 if "late" in name else None
            )
            for name in ids
        }
        prompts = await pipeline.wait_for_records(
            names.PROMPTS, lambda all_: {one.turn for one in all_} >= set(turns.values())
        )
        speaking = [turn for name, turn in turns.items() if "silent" not in name]
        for name, turn in turns.items():
            if "silent" not in name:
                await frame(pipeline, turn, 0, SHOWN + HIDDEN)
            if "gap" in name:
                await frame(pipeline, turn, 2, "and this comes after what is missing")
        await pipeline.wait_for_records(names.RELEASED_FRAMES, lambda all_: {one.turn for one in all_} >= set(speaking))
        assert doomed.alive
        doomed.kill()
        pipeline.start("turns")
        views = await pipeline.read(turns.values(), timeout_s=90)
        texts = await texts_of(pipeline, turns.values())
        usage = await usage_of(pipeline, turns.values())
        cancels = {one.turn for one in await pipeline.records(names.CANCELS)}
    for name, turn in turns.items():
        terminal = views[turn].terminal
        assert isinstance(terminal, FailedFrame), name
        assert terminal.error == ("FrameGapError" if "gap" in name else "TurnTimeoutError"), name
        assert terminal.phase == "model"
        assert_all_of(texts[turn], "" if "silent" in name else SETTLED[:-HELD])
        written = 0 if "silent" in name else -(-len(SHOWN + HIDDEN) // CHARS_PER_TOKEN)
        assert usage[turn] == {("failed", True, written)}, name
    assert cancels == set(turns.values())
    assert {one.attempt for one in prompts} == {0}


@pytest.mark.parametrize("why", ["rejected", "cancelled", "deadline"])
async def test_a_provider_is_let_go_once_nobody_waits_for_its_answer(
    broker: Broker, prefix: str, tmp_path: Path, why: str
) -> None:
    """The server sees the connection close in the middle of its answer; usage says what was spent until then."""
    said = "This is the word: swordfish." if why == "rejected" else SHOWN + HIDDEN

    async def answer(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": said}))
        await asyncio.Event().wait()

    async with model_server() as server:
        server.answer = answer
        settings: dict[str, Any] = {"openai_base_url": server.base_url, "openai_model": "test-model"}
        async with Pipeline(broker.bootstrap, prefix, tmp_path, DEPS, processor_workers=1, **settings) as pipeline:
            pipeline.start("turns")
            pipeline.start("models")
            limits = {"deadline_s": 20.0} if why == "deadline" else {}
            turn = await pipeline.client.submit("hello", thread_id="thread-1", **limits)
            await pipeline.wait_for_records(names.FRAMES, lambda all_: any(one.turn == turn for one in all_))
            if why == "cancelled":
                await pipeline.client.cancel(turn)
            view = (await pipeline.read([turn]))[turn]
            await asyncio.wait_for(server.disconnected.wait(), 30)
            texts = await texts_of(pipeline, [turn])
            usage = await usage_of(pipeline, [turn])
    assert view.terminal is not None
    assert view.terminal.kind == ("failed" if why == "deadline" else why)
    assert len(server.asked) == 1
    spent = -(-len(said) // CHARS_PER_TOKEN)
    assert usage[turn] == {("failed" if why == "deadline" else why, True, spent)}
    assert_all_of(texts[turn], "" if why == "rejected" else SETTLED[:-HELD])
