"""More than a worker can do at once: what does not fit waits in Kafka, nothing is lost, and nobody waits for the slow."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import TopicPartition

from streams.gate.entries import Accepted, Closed
from streams.gate.records import JournalRecord
from streams.journal.keys import RowKey, is_claim
from streams.turns.publisher import BACKLOG
from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.integration.test_providers import metrics_on
from topics import names
from topics.ids import TurnKey

MAX_OPEN = 8
TURNS = 160
FRAMES = 25_000
#: An inbox holds so many records that wait and, a moment, those of a batch that were let in while it was taken.
INBOX = 12_000


class Gauges:
    """The highest sum over partitions that each of a worker's metrics was seen at, and the last one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.highest: Counter[str] = Counter()
        self.last: Counter[str] = Counter()

    def look(self) -> None:
        """Look once."""
        shown = metrics_on(self._port).splitlines()
        self.last = Counter()
        for name, value in (line.rsplit(" ", 1) for line in shown if not line.startswith("#")):
            self.last[name.partition("{")[0]] += round(float(value))
        self.highest |= self.last

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look again and again."""

        async def watch() -> None:
            while True:
                await asyncio.to_thread(self.look)
                await asyncio.sleep(0.1)

        watching = asyncio.create_task(watch())
        try:
            yield
            assert not watching.done()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


async def most_open_turns(pipeline: Pipeline) -> tuple[int, int]:
    """Return how many turns were open at once, by the journal of the only partition, and how many were accepted."""
    place = TopicPartition(pipeline.names.journal("turns"), 0)
    opened: set[str] = set()
    most = accepted = 0
    async with pipeline.connection.consumer() as consumer:
        consumer.assign([place])
        while batch := await consumer.getmany(timeout_ms=1_000):
            for one in batch[place]:
                key = one.key or b""
                if one.value is None or is_claim(key) or key.count(b"/") != 4:
                    continue
                row = RowKey.parse(key)
                entry = JournalRecord.decode(row.n, one.value).entry
                if isinstance(entry, Accepted):
                    opened.add(row.subject)
                    accepted += 1
                elif isinstance(entry, Closed):
                    opened.discard(row.subject)
                most = max(most, len(opened))
    return most, accepted


async def flood(pipeline: Pipeline, turn: TurnKey) -> str:
    """Write a turn's whole answer at once, in many frames, and return it."""
    ids = {"thread_id": turn.thread_id, "turn_id": turn.turn_id}
    topic, said = pipeline.names.topic(names.FRAMES), []
    async with pipeline.connection.producer(linger_ms=20, max_batch_size=256 * 1024) as producer:
        for seq in range(FRAMES):
            said.append(f"{seq} ")
            frame = {**ids, "seq": seq, "text": said[-1], "finish_reason": "stop" if seq == FRAMES - 1 else None}
            await producer.send(topic, json.dumps(frame).encode(), key=turn.thread.encode(), partition=0)
        await producer.flush()
    return "".join(said)


async def test_a_flood_waits_in_kafka_and_every_turn_ends_right(
    broker: Broker, prefix: str, tmp_path: Path, unused_tcp_port: int
) -> None:
    """Twenty times as many turns as may be open, and an answer in more frames than an inbox holds."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, partitions=1, max_open_turns=MAX_OPEN) as pipeline:
        pipeline.start("turns", metrics_port=unused_tcp_port)
        pipeline.start("models")
        await pipeline.ready()
        gauges = Gauges(unused_tcp_port)
        torrent = await pipeline.open_turn("torrent")
        async with gauges.watched():
            flooding = asyncio.create_task(flood(pipeline, torrent))
            turns = [
                await pipeline.submit("hello", f"thread-{number}", [f"{number}: ", "well", " said"])
                for number in range(TURNS)
            ]
            whole = await flooding
            views = await pipeline.read([torrent, *turns], timeout_s=100)
        after = await pipeline.submit("hello", "after", ["and on it goes"])
        assert (await pipeline.read([after]))[after].text == "and on it goes"
        await asyncio.to_thread(gauges.look)
        most, accepted = await most_open_turns(pipeline)
        letters = await pipeline.records(names.DEAD_LETTERS)
    assert views[torrent].text == whole
    assert [views[turn].text for turn in turns] == [f"{number}: well said" for number in range(TURNS)]
    assert letters == []
    assert accepted == TURNS + 3, "each once, with the probe, the torrent and the one after"
    assert most <= MAX_OPEN
    assert gauges.highest["turngate_open_turns"] <= MAX_OPEN
    assert 0 < gauges.highest["turngate_waiting_inputs"] <= INBOX
    assert gauges.highest["turngate_unpublished_records"] <= BACKLOG + 2 * INBOX
    assert [gauges.last[name] for name in ("turngate_waiting_inputs", "turngate_open_turns")] == [0, 0]


@pytest.mark.parametrize(("chain", "slow_turns"), [("slow_blocking", 1), ("slow", 3)])
async def test_a_slow_processor_delays_no_other_turn_of_its_partition(
    broker: Broker, prefix: str, tmp_path: Path, chain: str, slow_turns: int
) -> None:
    """Those that were submitted later end while it is still at work on the first: it ends only once they have."""
    gate = tmp_path / "gate"
    deps = f"tests.integration.chains:{chain}"
    async with Pipeline(broker.bootstrap, prefix, tmp_path, deps, partitions=1, processor_workers=2) as pipeline:
        pipeline.start("turns")
        pipeline.start("models")
        slow = [
            await pipeline.submit("hello", f"slow-{number}", ["slow"], attributes={"waits_for": str(gate)})
            for number in range(slow_turns)
        ]
        await pipeline.wait_for_records(names.FRAMES, lambda all_: {one.turn for one in all_} >= set(slow))
        quick = [await pipeline.submit("hello", f"quick-{number}", [f"quick {number}"]) for number in range(10)]
        views = await pipeline.read(quick)
        ended = {one.turn for one in await pipeline.records(names.RELEASED_FRAMES)}
        gate.touch()
        views |= await pipeline.read(slow)
    assert not ended & set(slow)
    assert [views[turn].reply for turn in quick] == [f"quick {number}" for number in range(10)]
    assert [views[turn].reply for turn in slow] == ["slow"] * slow_turns
