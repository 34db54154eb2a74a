"""Dead letters on real brokers: list, show, and send again."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete

from tests.brokers.broker import Broker
from tests.topics.batches import GZIP, batch, record, send
from tests.topics.frames import TURN
from tests.topics.pipeline import PARTITIONS, Pipeline
from topics import codec
from topics.admin import TopicAdmin
from topics.batches import MAX_UNPACKED_BYTES
from topics.connection import Connection
from topics.content import TextPart
from topics.dead_letters import DeadLetterNotFoundError, DeadLetters, NotReplayableError, OriginGoneError
from topics.errors import BrokerUnreachableError, TopicLayoutError
from topics.names import DEAD_LETTERS, RELEASED_FRAMES, REQUESTS, Names, Topic
from topics.records import DeadLetter, TurnRequest

RIGHT = TURN.thread.partition(PARTITIONS)
WRONG = (RIGHT + 1) % PARTITIONS
REQUEST_BYTES = codec.encode(TurnRequest(**TURN._asdict(), message=(TextPart(text="the secret"),)))


@pytest.fixture
def letters(pipeline: Pipeline) -> DeadLetters:
    """Give the dead letters of the test's pipeline."""
    return DeadLetters(pipeline.connection, pipeline.names)


async def refuse(
    pipeline: Pipeline, topic: Topic, partition: int, offset: int, letter_id: str = "dl-1", **fields: Any
) -> DeadLetter:
    """Do what a worker does with a record that it cannot take."""
    letter = DeadLetter(
        **{"id": letter_id, "error": "MalformedRecordError", "reason": "wrong", "worker": "w-1", "at": 1.0, **fields},
        origin_topic=pipeline.names.topic(topic),
        origin_partition=partition,
        origin_offset=offset,
    )
    await pipeline.send(DEAD_LETTERS, codec.encode(letter), partition % PARTITIONS)
    return letter


async def test_all_are_listed_once_and_oldest_first(pipeline: Pipeline, letters: DeadLetters) -> None:
    """From all partitions; a worker that died may have written one twice; what cannot be read is left out."""
    assert list(await letters.list()) == []
    late = await refuse(pipeline, REQUESTS, 0, 1, "late", at=30.0)
    early = await refuse(pipeline, REQUESTS, 1, 2, "early", at=10.0)
    await refuse(pipeline, REQUESTS, 1, 2, "early", at=10.0)
    await pipeline.send(DEAD_LETTERS, b"{nonsense", 2)
    middle = await refuse(pipeline, REQUESTS, 2, 3, "middle", at=20.0)
    assert list(await letters.list()) == [early, middle, late]


async def test_letters_written_as_one_batch_are_all_listed(pipeline: Pipeline, letters: DeadLetters) -> None:
    """The embedded broker tells an end that is short of them."""
    name = pipeline.names.topic(DEAD_LETTERS)
    one = await refuse(pipeline, REQUESTS, 0, 0, "one")
    many = [one.model_copy(update={"id": f"batch-{number}", "at": 2.0 + number}) for number in range(20)]
    async with pipeline.connection.producer(linger_ms=50) as producer:
        for letter in many:
            await producer.send(name, codec.encode(letter), partition=0)
        await producer.flush()
    assert list(await letters.list()) == [one, *many]


async def test_content_is_shown_only_when_asked_for(pipeline: Pipeline, letters: DeadLetters) -> None:
    """Place, key, size and time always are."""
    offset = await pipeline.send(REQUESTS, REQUEST_BYTES, WRONG, b"a-key")
    letter = await refuse(pipeline, REQUESTS, WRONG, offset)
    shown = await letters.show("dl-1")
    assert shown.letter == letter
    assert shown.origin is not None
    assert (shown.origin.topic, shown.origin.partition) == (letter.origin_topic, WRONG)
    assert (shown.origin.offset, shown.origin.key, shown.origin.size) == (offset, b"a-key", len(REQUEST_BYTES))
    assert shown.origin.at > 0
    assert shown.origin.value is None
    assert "secret" not in repr(shown)
    with_content = await letters.show("dl-1", with_content=True)
    assert with_content.origin is not None
    assert with_content.origin.value == REQUEST_BYTES


async def test_the_right_one_of_many_records_is_fetched(pipeline: Pipeline, letters: DeadLetters) -> None:
    """Neither its neighbours nor the start of its batch."""
    async with pipeline.connection.producer(linger_ms=50) as producer:
        for number in range(10):
            await producer.send(pipeline.names.topic(REQUESTS), b"record %d" % number, partition=1)
        await producer.flush()
    await refuse(pipeline, REQUESTS, 1, 7)
    shown = await letters.show("dl-1", with_content=True)
    assert shown.origin is not None
    assert shown.origin.value == b"record 7"


async def test_a_record_in_a_wrong_partition_is_sent_to_the_right_one(pipeline: Pipeline, letters: DeadLetters) -> None:
    """Byte for byte, with the key of its thread; and again as often as one likes."""
    offset = await pipeline.send(REQUESTS, REQUEST_BYTES, WRONG, b"another key")
    letter = await refuse(pipeline, REQUESTS, WRONG, offset)
    for number in range(2):
        replay = await letters.replay("dl-1")
        assert (replay.letter, replay.topic) == (letter, letter.origin_topic)
        assert (replay.partition, replay.offset, replay.moved) == (RIGHT, number, True)
        assert "no harm" in replay.note
    first, *copies = sorted(await pipeline.read(REQUESTS, 3), key=lambda record: record.partition == RIGHT)
    assert (first.partition, first.key) == (WRONG, b"another key")
    assert [(copy.partition, copy.key, copy.value) for copy in copies] == [
        (RIGHT, TURN.thread.encode(), REQUEST_BYTES)
    ] * 2


async def test_a_record_that_was_right_where_it_was_stays_there(pipeline: Pipeline, letters: DeadLetters) -> None:
    """It was refused for something that has been mended since."""
    offset = await pipeline.send(REQUESTS, REQUEST_BYTES, RIGHT, TURN.thread.encode())
    await refuse(pipeline, REQUESTS, RIGHT, offset)
    replay = await letters.replay("dl-1")
    assert (replay.partition, replay.offset, replay.moved) == (RIGHT, offset + 1, False)


@pytest.mark.parametrize("key", [None, b"k"])
async def test_a_record_that_names_no_thread_goes_where_it_was(
    pipeline: Pipeline, letters: DeadLetters, key: bytes | None
) -> None:
    """Nobody could say where else."""
    offset = await pipeline.send(REQUESTS, b"not json", WRONG, key)
    await refuse(pipeline, REQUESTS, WRONG, offset)
    replay = await letters.replay("dl-1")
    assert (replay.partition, replay.offset, replay.moved) == (WRONG, offset + 1, False)
    _, copy = await pipeline.read(REQUESTS, 2)
    assert (copy.key, copy.value) == (key, b"not json")


async def test_a_record_whose_headers_cannot_be_read_is_sent_again_without_them(
    broker: Broker, pipeline: Pipeline, letters: DeadLetters
) -> None:
    """Its value is what its writer meant."""
    bad = record(0, REQUEST_BYTES, TURN.thread.encode(), headers=[(b"ok", b"1"), (b"\xff", b"2")])
    offset = await send(broker.bootstrap, pipeline.names.topic(REQUESTS), RIGHT, batch([bad]))
    await refuse(pipeline, REQUESTS, RIGHT, offset)
    shown = await letters.show("dl-1", with_content=True)
    assert shown.origin is not None
    assert shown.origin.value == REQUEST_BYTES
    replay = await letters.replay("dl-1")
    assert (replay.partition, replay.offset, replay.moved) == (RIGHT, offset + 1, False)
    _, copy = await pipeline.read(REQUESTS, 2)
    assert (copy.key, type(copy.value), copy.value, copy.headers) == (TURN.thread.encode(), bytes, REQUEST_BYTES, ())


async def test_a_damaged_record_is_shown_as_such_and_not_sent_again(
    broker: Broker, pipeline: Pipeline, letters: DeadLetters
) -> None:
    """Nobody knows what it said; the error says what is wrong with it, and who has to act."""
    bomb = batch([record(0, bytes(MAX_UNPACKED_BYTES))], codec=GZIP, time=-(2**60))
    offset = await send(broker.bootstrap, pipeline.names.topic(REQUESTS), 1, bomb)
    await refuse(pipeline, REQUESTS, 1, offset)
    shown = await letters.show("dl-1", with_content=True)
    assert shown.origin is not None
    assert (shown.origin.size, shown.origin.value) == (0, b"")
    with pytest.raises(NotReplayableError, match=r"unpacks to more than .* Have the writer send again"):
        await letters.replay("dl-1")
    assert len(await pipeline.read(REQUESTS, 2)) == 1


async def test_a_record_that_is_not_there_is_a_clear_error(pipeline: Pipeline, letters: DeadLetters) -> None:
    """Whether its offset, its partition or its topic does not exist; looking does not make a topic."""
    await pipeline.send(REQUESTS, REQUEST_BYTES, 0)
    await refuse(pipeline, REQUESTS, 0, 5, "offset")
    await refuse(pipeline, REQUESTS, 9, 0, "partition")
    letter = await refuse(pipeline, REQUESTS, 0, 0, "gone-topic")
    other = letter.model_copy(update={"id": "topic", "origin_topic": f"{pipeline.names.prefix}never-there"})
    await pipeline.send(DEAD_LETTERS, codec.encode(other), 0)
    with pytest.raises(OriginGoneError, match="Ask its writer to send it again"):
        await letters.replay("offset")
    for name in ("partition", "topic"):
        shown = await letters.show(name, with_content=True)
        assert shown.origin is None
        assert shown.gone is not None
        assert "no longer" in shown.gone
    assert other.origin_topic not in await TopicAdmin(pipeline.connection, pipeline.names).describe()


@pytest.mark.only_brokers("apache", "docker")
async def test_a_record_that_its_topic_let_go_of_is_a_clear_error(
    broker: Broker, pipeline: Pipeline, letters: DeadLetters
) -> None:
    """Another record is not sent in its place."""
    for number in range(3):
        await pipeline.send(REQUESTS, b"record %d" % number, 0)
    await refuse(pipeline, REQUESTS, 0, 1)
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await admin.start()
    await admin.delete_records({TopicPartition(pipeline.names.topic(REQUESTS), 0): RecordsToDelete(before_offset=2)})
    await admin.close()
    with pytest.raises(OriginGoneError, match=r"requests/0, offset 1:"):
        await letters.replay("dl-1")


async def test_only_what_workers_take_is_sent_again(pipeline: Pipeline, letters: DeadLetters) -> None:
    """Nobody but the turn worker writes to `released`, not even an operator by mistake."""
    await pipeline.send(RELEASED_FRAMES, b"{}", 0)
    await refuse(pipeline, RELEASED_FRAMES, 0, 0)
    with pytest.raises(NotReplayableError, match="released"):
        await letters.replay("dl-1")
    rows = {row.name: row for row in await TopicAdmin(pipeline.connection, pipeline.names).list()}
    assert rows[pipeline.names.topic(RELEASED_FRAMES)].records == 1


async def test_an_unknown_letter_is_a_clear_error(letters: DeadLetters) -> None:
    """For each command that takes one."""
    with pytest.raises(DeadLetterNotFoundError, match="no-such"):
        await letters.show("no-such")
    with pytest.raises(DeadLetterNotFoundError, match="turngate dead-letters list"):
        await letters.replay("no-such")


async def test_without_a_pipeline_the_error_says_so(broker: Broker, prefix: str) -> None:
    """And no topic comes into being."""
    connection = Connection(broker.bootstrap)
    with pytest.raises(TopicLayoutError, match=f"{prefix}dead-letters"):
        await DeadLetters(connection, Names(prefix)).list()
    assert await TopicAdmin(connection, Names(prefix)).describe() == {}


async def test_no_broker_is_an_error_that_says_what_to_do() -> None:
    """As everywhere."""
    with pytest.raises(BrokerUnreachableError, match="turngate up"):
        await DeadLetters(Connection("127.0.0.1:1", limit_s=0.3)).list()
