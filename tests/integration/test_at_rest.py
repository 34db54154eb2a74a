"""A pipeline that encrypts what it keeps: what is on the broker, keys that are wrong, and keys that change."""

from __future__ import annotations

import asyncio
import re
import uuid
from pathlib import Path
from typing import get_args

from aiokafka import ConsumerRecord, TopicPartition

from streams.journal.keys import RowKey, claim_key, is_claim
from tests.brokers.broker import Broker
from tests.integration.key_rings import write_ring
from tests.integration.pipeline import Pipeline, Worker
from topics import codec, envelope, names
from topics.connection import Connection
from topics.dead_letters import DeadLetters
from topics.ids import TurnKey
from topics.names import JournalRole, Names
from topics.records import CompletedFrame, Erase
from topics.sealing import CLAIMS, AsStored
from topics.snapshots import to_the_end

CHAIN = "tests.integration.chains:streaming"
DESK = "tests.integration.desk_deps:deps"
#: What a caller writes, a model answers and a tool is told: none of it may be readable on the broker.
MESSAGE, ANSWER, REASONING = "Where is my zeppelin, please?", "Over the marzipan mountains it flies.", "Kaleidoscope."


def of(broker: Broker, directory: Path, ring: str, deps: str = CHAIN) -> Pipeline:
    """Return a pipeline of its own that uses a folder of keys."""
    prefix = f"sealed-{uuid.uuid4().hex[:8]}."
    return Pipeline(broker.bootstrap, prefix, directory, deps, processor_workers=1, partitions=2, key_ring=ring)


async def as_stored(pipeline: Pipeline) -> dict[str, list[ConsumerRecord]]:
    """Return every record of the pipeline's topics as it lies on the broker, by the topic's full name."""
    raw = Connection(pipeline.connection.bootstrap_servers, sealing=AsStored())
    counts = {pipeline.names.topic(one): 2 if one.per_turn else 1 for one in names.TOPICS}
    counts |= {pipeline.names.journal(role): 2 for role in get_args(JournalRole)}
    found: dict[str, list[ConsumerRecord]] = {}
    for topic, partitions in counts.items():
        async with raw.consumer() as consumer:
            places = [TopicPartition(topic, number) for number in range(partitions)]
            found[topic] = [record async for record in to_the_end(raw, consumer, places)]
    return found


async def ended(worker: Worker) -> str:
    """Return what a worker said once it has ended by itself: before it began, or as one that had to stop."""
    assert await asyncio.to_thread(worker.process.wait, 60) in {1, 70}
    return worker.log.read_text(encoding="utf-8")


async def settled(pipeline: Pipeline, turn: TurnKey) -> str:
    """Return the reply of a turn that must complete."""
    terminal = (await pipeline.read([turn]))[turn].terminal
    assert isinstance(terminal, CompletedFrame), terminal
    return terminal.reply or ""


async def test_nothing_that_was_said_can_be_read_on_the_broker(broker: Broker, tmp_path: Path) -> None:
    """Neither on a sensitive topic nor in a journal; what readers are to see is as it always was."""
    async with of(broker, tmp_path, write_ring(tmp_path / "keys", "k1"), DESK) as pipeline:
        for role in ("turns", "models", "tools"):
            pipeline.start(role)
        asking = {"index": 0, "id": "c0", "name": "account_of", "arguments": '{"name": "zebedee"}'}
        script = [
            {"step": 0, "reasoning": REASONING, "tool_call_delta": asking},
            {"step": 0, "finish_reason": "tool_calls"},
            {"step": 1, "text": ANSWER},
            {"step": 1, "finish_reason": "stop"},
        ]
        first = await pipeline.submit(MESSAGE, "thread", script, agent="desk")
        assert (await settled(pipeline, first)).startswith(ANSWER)
        second = await pipeline.submit("And again?", "thread", ["Still "], agent="desk")
        assert (await settled(pipeline, second)).startswith("Still ")
        endless = await pipeline.submit("hello", "other", [{"hang": True}], agent="desk")
        await pipeline.wait_for_records(names.PROMPTS, lambda all_: any(one.turn == endless for one in all_))
        await pipeline.send_raw(names.FRAMES, endless, b'{"seq": "' + ANSWER.encode() + b'"}')
        letters = await pipeline.wait_for_records(names.DEAD_LETTERS, bool)
        assert [one.error for one in letters] == ["MalformedRecordError"]
        assert (await pipeline.read([endless]))[endless].closed
        wish = Erase(id="e", thread_id="zebedee", by="marzipan", at=1.0)
        await pipeline.send_raw(names.ERASURES, endless, codec.encode(wish), with_ids=False)
        stored = await as_stored(pipeline)
    journals = {pipeline.names.journal(role) for role in get_args(JournalRole)}
    sensitive = {pipeline.names.topic(one) for one in names.TOPICS if one.sensitive} | journals
    said = (MESSAGE, ANSWER, REASONING, "marzipan", "zeppelin", "zebedee", "123456", "thread", "account", "desk")
    for topic in sensitive:
        values = [one.value for one in stored[topic] if one.value is not None and not is_claim(one.key)]
        assert values, f"nothing was written to {topic}"
        for value in values:
            assert envelope.is_sealed(value), topic
            assert not any(word.encode() in value for word in said), topic
    for topic in set(stored) - sensitive:
        for record in stored[topic]:
            codec.parse(record.value)
    assert any(ANSWER.encode() in one.value for one in stored[pipeline.names.topic(names.RELEASED_FRAMES)])


async def test_a_worker_with_a_wrong_key_stops_and_the_right_one_finishes_the_turn(
    broker: Broker, tmp_path: Path
) -> None:
    """It says which record and which key, nothing is refused or lost, and the turn goes on where it was."""
    ring = write_ring(tmp_path / "keys", "k1")
    async with of(broker, tmp_path, ring) as pipeline:
        (worker,) = pipeline.start("turns")
        pipeline.start("models")
        turn = await pipeline.open_turn("thread")
        worker.kill()
        await pipeline.send_raw(names.FRAMES, turn, b'{"seq":0,"text":"Kept ","finish_reason":null}')
        for other in (write_ring(tmp_path / "wrong", "k1", seed=1), write_ring(tmp_path / "missing", "k2"), None):
            (wrong,) = pipeline.start("turns", key_ring=other)
            said = await ended(wrong)
            assert re.search(r"\[1\] at offset \d+: the record is sealed with the key k1", said)
            assert ("SealedRecordError" in said) == (other is None)
        # A model runner meets it in its own journal.
        pipeline.workers[1].kill()
        (wrong,) = pipeline.start("models", key_ring=None)
        assert pipeline.names.journal("models") in await ended(wrong)
        pipeline.start("turns")
        await pipeline.send_raw(names.FRAMES, turn, b'{"seq":1,"text":"whole.","finish_reason":"stop"}')
        assert await settled(pipeline, turn) == "Kept whole."
        assert await pipeline.records(names.DEAD_LETTERS) == []


async def test_a_key_changes_in_the_middle_of_a_turn(broker: Broker, tmp_path: Path) -> None:
    """A running worker finds the new key in the folder; a restarted one reads what the old key sealed and goes on."""
    folder = tmp_path / "keys"
    ring = write_ring(folder, "k1")
    async with of(broker, tmp_path, ring) as pipeline:
        (first,) = pipeline.start("turns")
        pipeline.start("models")
        turn = await pipeline.open_turn("thread")
        await pipeline.send_raw(names.FRAMES, turn, b'{"seq":0,"text":"Before, "}')
        write_ring(folder, "k2")
        later = Pipeline(broker.bootstrap, pipeline.names.prefix, tmp_path, key_ring=ring, partitions=2)
        async with later:  # whose writers use the new key
            await later.send_raw(names.FRAMES, turn, b'{"seq":1,"text":"between, "}')
            await pipeline.wait_for_records(names.FRAMES, lambda all_: len(all_) == 2)
            await asyncio.sleep(1)
            assert first.alive
            first.stop()
            pipeline.start("turns")
            await later.send_raw(names.FRAMES, turn, b'{"seq":2,"text":"after.","finish_reason":"stop"}')
            assert await settled(later, turn) == "Before, between, after."
            stored = await as_stored(pipeline)
        journal = stored[pipeline.names.journal("turns")]
        headers = [envelope.parse(one.value) for one in journal if one.value is not None]
        assert {one.key_id for one in headers if one is not None} == {"k1", "k2"}


async def altered(pipeline: Pipeline, topic: str, key: bytes, value: bytes, partition: int) -> None:
    """Write a record that was sealed with the pipeline's key and changed in one byte of its text."""
    sealed = bytearray(pipeline.connection.sealing.seal(topic, key, value) or b"")
    sealed[-1] ^= 1
    raw = Connection(pipeline.connection.bootstrap_servers, sealing=AsStored())
    async with raw.producer() as producer:
        await producer.send_and_wait(topic, bytes(sealed), key=key, partition=partition)


async def test_an_altered_record_is_refused_and_an_altered_journal_stops_its_worker(
    broker: Broker, tmp_path: Path
) -> None:
    """The one could come from anybody, and the partition goes on; nobody but workers may write to the other."""
    async with of(broker, tmp_path, write_ring(tmp_path / "keys", "k1")) as pipeline:
        (worker,) = pipeline.start("turns")
        pipeline.start("models")
        turn = await pipeline.open_turn("thread")
        key, partition = turn.thread.encode(), turn.thread.partition(2)
        await pipeline.send_raw(names.FRAMES, turn, b'{"seq":0,"text":"Before "}')
        await altered(pipeline, pipeline.names.topic(names.FRAMES), key, b'{"text":"never"}', partition)
        await pipeline.send_raw(names.FRAMES, turn, b'{"seq":1,"text":"and after.","finish_reason":"stop"}')
        assert await settled(pipeline, turn) == "Before and after."
        (letter,) = await pipeline.wait_for_records(names.DEAD_LETTERS, bool)
        assert (letter.error, letter.origin_topic, letter.turn_id) == (
            "UnreadableRecordError",
            pipeline.names.topic(names.FRAMES),
            None,
        )
        assert "altered" in letter.reason
        worker.stop()
        row = RowKey("default/thread/x", 0, 2**40).encode()
        await altered(pipeline, pipeline.names.journal("turns"), row, b"{}", 0)
        (wrong,) = pipeline.start("turns")
        said = await ended(wrong)
        assert "UnreadableGapError" in said
        assert "does not open with the key k1" in said


async def test_plain_records_are_refused_once_sealed_ones_are_required(broker: Broker, tmp_path: Path) -> None:
    """The caller is told, and `dead-letters replay` seals what it sends again; with `write` they are taken."""
    ring = write_ring(tmp_path / "keys", "k1")
    async with of(broker, tmp_path, ring) as pipeline:
        (worker,) = pipeline.start("turns")
        pipeline.start("models")
        plain = Pipeline(broker.bootstrap, pipeline.names.prefix, tmp_path, partitions=2)
        async with plain:
            turn = await plain.submit(MESSAGE, "thread", ["Hello."])
            terminal = (await pipeline.read([turn]))[turn].terminal
            assert terminal is not None
            assert terminal.kind == "failed"
            (letter,) = await pipeline.wait_for_records(names.DEAD_LETTERS, bool)
            assert (letter.error, letter.turn_id) == ("UnreadableRecordError", turn.turn_id)
            assert "is not sealed" in letter.reason
            await DeadLetters(pipeline.connection, pipeline.names).replay(letter.id)
            stored = await as_stored(pipeline)
            on_broker = stored[pipeline.names.topic(names.REQUESTS)]
            assert [envelope.is_sealed(one.value) for one in on_broker] == [False, True]
            worker.stop()
            pipeline.start("turns", key_ring_use="write")
            turn = await plain.submit(MESSAGE, "other", ["Hello."])
            assert await settled(pipeline, turn) == "Hello."


def test_sensitive_topics_are_told_by_their_names() -> None:
    """Under whatever prefix, and no name of the one kind ends as one of the other kind does."""
    for prefix in ("turngate.", "x", "released", "requests."):
        full = Names(prefix)
        for topic in names.TOPICS:
            assert full.topic(topic).endswith(names.OPEN_NAMES) == (not topic.sensitive)
            assert full.topic(topic).endswith(names.SENSITIVE_NAMES) == topic.sensitive
        for role in get_args(JournalRole):
            assert full.journal(role).endswith(names.SENSITIVE_NAMES)
            assert not full.journal(role).endswith(names.OPEN_NAMES)
    assert claim_key("x").startswith(CLAIMS)
