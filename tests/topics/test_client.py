"""The client on real brokers: what it publishes, and that it shows of a turn all of it, once, in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiokafka import TopicPartition
from pydantic import ValidationError

from tests.brokers.broker import Broker
from tests.brokers.embedded import EmbeddedBroker
from tests.topics.batches import ZSTD, batch, record, send
from tests.topics.frames import TURN, completed, completed_long, failed, reset, text
from tests.topics.pipeline import PARTITIONS, Pipeline, make
from topics import codec
from topics.admin import TopicAdmin
from topics.client import ContradictedTextError, TurnClient
from topics.connection import Connection
from topics.content import TextPart
from topics.errors import BrokerUnreachableError, RecordTooLargeError, TopicLayoutError
from topics.ids import TurnKey
from topics.names import RELEASED_FRAMES, REQUEST, REQUESTS, Names
from topics.records import CancelTurn, ReleasedFrame, TurnRequest

PATIENCE_S = 30.0
PARTITION = TURN.thread.partition(PARTITIONS)


@pytest.fixture
async def client(pipeline: Pipeline) -> TurnClient:
    """Give a client that each test enters itself."""
    return TurnClient(pipeline.connection, pipeline.names)


async def follow(client: TurnClient, turn: TurnKey | str = TURN) -> list[ReleasedFrame]:
    """Return all that is released of a turn."""
    return [frame async for frame in client.follow(turn, timeout_s=PATIENCE_S)]


async def test_a_submitted_turn_is_on_the_partition_of_its_thread(pipeline: Pipeline, client: TurnClient) -> None:
    """Key and partition are what every turn topic uses for this thread."""
    async with client:
        turn = await client.submit("hello", thread_id="t-1", tenant="acme", agent="support", delivery="final")
    (record,) = await pipeline.read(REQUESTS, 1)
    request = codec.decode(record.value, REQUEST)
    assert isinstance(request, TurnRequest)
    assert (request.turn, request.agent, request.delivery) == (turn, "support", "final")
    assert request.message == (TextPart(text="hello"),)
    assert record.key == b"acme/t-1"
    assert record.partition == turn.thread.partition(PARTITIONS)


async def test_missing_ids_are_made_up_and_given_ones_are_kept(pipeline: Pipeline, client: TurnClient) -> None:
    """Two texts without ids are two turns of two threads."""
    async with client:
        one, two = await client.submit("a"), await client.submit("b")
        mine = await client.submit("c", thread_id="t", turn_id="u")
    assert len({one, two, mine}) == 3
    assert one.thread != two.thread
    assert mine == TurnKey("default", "t", "u")
    assert len(await pipeline.read(REQUESTS, 3)) == 3


async def test_a_cancellation_goes_where_the_turn_went(pipeline: Pipeline, client: TurnClient) -> None:
    """It is a record of `requests`, in the same partition and with the same key."""
    async with client:
        await client.cancel(TURN)
    (record,) = await pipeline.read(REQUESTS, 1)
    assert codec.decode(record.value, REQUEST) == CancelTurn(**TURN._asdict())
    assert (record.key, record.partition) == (TURN.thread.encode(), PARTITION)


async def test_what_a_request_cannot_have_is_refused(client: TurnClient) -> None:
    """A misspelt field is an error and not ignored; a wrong value is not quoted; too much text is said so."""
    async with client:
        with pytest.raises(TypeError, match="thraed_id"):
            await client.submit("hello", thraed_id="t")
        with pytest.raises(TypeError, match="agent"):
            await client.submit(TurnRequest(**TURN._asdict(), message=(TextPart(text="hello"),)), agent="support")
        with pytest.raises(ValidationError) as wrong:
            await client.submit("hello", thread_id="a/secret")
        assert "secret" not in str(wrong.value)
        with pytest.raises(RecordTooLargeError, match="1 MB"):
            await client.submit("x" * 1_100_000)


async def test_a_reader_sees_each_text_once_and_in_order(pipeline: Pipeline, client: TurnClient) -> None:
    """Duplicates, overlaps, frames out of order, other turns of the thread and records nobody can read are left out."""
    async with client:
        await client.submit("hi", **TURN._asdict())
        await pipeline.release([text(0, "Hel"), text(0, "Hel"), text(0, "X", turn_id="another"), text(2, "llo")])
        await pipeline.send(RELEASED_FRAMES, b"{nonsense", PARTITION, TURN.thread.encode())
        await pipeline.release(
            [text(10, "d!"), text(5, " wor"), text(10, "d!"), text(8, "rld!"), completed("Hello world!")]
        )
        seen = await follow(client)
    assert seen == [text(0, "Hel"), text(3, "lo"), text(5, " wor"), text(9, "ld!"), completed("Hello world!")]


async def test_a_reader_sees_frames_as_they_come(pipeline: Pipeline, client: TurnClient) -> None:
    """Text is not held until the end."""
    async with client, aclosing(client.follow(TURN, timeout_s=PATIENCE_S)) as frames:
        for frame in (text(0, "one"), text(3, "two"), completed("onetwo")):
            await pipeline.release([frame])
            assert await anext(frames) == frame
        with pytest.raises(StopAsyncIteration):
            await anext(frames)


async def test_a_reader_that_comes_late_sees_all(pipeline: Pipeline, client: TurnClient) -> None:
    """Also of a turn that somebody else submitted, by any of its names, and again if asked again."""
    frames: list[ReleasedFrame] = [text(0, "done "), text(5, "before"), completed("done before")]
    await pipeline.release([text(0, "x", turn_id="earlier"), *frames, text(0, "x", turn_id="later")])
    async with client:
        for name in (TURN, str(TURN), TURN.turn_id, TURN):
            assert await follow(client, name) == frames


async def test_a_turn_submitted_anew_elsewhere_is_read_from_its_beginning(
    pipeline: Pipeline, client: TurnClient
) -> None:
    """The worker repeats only the ending; the text it speaks of was there before this client came."""
    frames: list[ReleasedFrame] = [text(0, "long "), text(0, "ago", step=1), completed_long("long ago", step=1)]
    await pipeline.release(frames)
    async with client:
        await client.submit("hi", **TURN._asdict())
        await pipeline.release([frames[-1]])
        assert await follow(client) == frames


async def test_a_reader_passes_over_what_cannot_be_read(
    broker: Broker, pipeline: Pipeline, client: TurnClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Only turn workers write there; but what somebody else wrote must stop nobody from reading."""
    key, value = TURN.thread.encode(), codec.encode(text(0, "no"))
    bad = [record(0, value, key, headers=[(b"\xff", b"")]), record(7, value, key)]
    topic = pipeline.names.topic(RELEASED_FRAMES)
    await pipeline.release([text(0, "he")])
    await send(broker.bootstrap, topic, PARTITION, batch(bad))
    await send(broker.bootstrap, topic, PARTITION, batch([record(0, bytes(10**8))], codec=ZSTD))
    frames: list[ReleasedFrame] = [text(2, "llo"), completed("hello")]
    await pipeline.release(frames)
    async with client:
        assert await follow(client) == [text(0, "he"), *frames]
    assert caplog.text.count("cannot be read") == 2  # the bomb has no key, so it is nobody's


async def test_an_attempt_that_died_is_dropped_from_the_screen(pipeline: Pipeline, client: TurnClient) -> None:
    """The reader gets the reset, then the text of the attempt that counts."""
    frames: list[ReleasedFrame] = [
        text(0, "dead"),
        reset(1),
        text(0, "alive", attempt=1),
        completed("alive", attempt=1),
    ]
    await pipeline.release(frames)
    async with client:
        assert await follow(client) == frames


async def test_frames_that_disagree_are_an_error(pipeline: Pipeline, client: TurnClient) -> None:
    """The reader is told, with the place and without the text."""
    await pipeline.release([text(0, "secret"), text(0, "sacred")])
    async with client:
        with pytest.raises(ContradictedTextError, match=rf"{TURN}.*offset 1\b") as error:
            await follow(client)
    assert "secret" not in str(error.value)
    assert "sacred" not in str(error.value)


async def test_a_silent_turn_is_a_timeout(client: TurnClient) -> None:
    """The error says what may be missing."""
    async with client:
        with pytest.raises(TimeoutError, match="turn worker"):
            await anext(client.follow(TURN, timeout_s=0.3))


async def test_run_submits_waits_and_returns_the_whole_turn(pipeline: Pipeline, client: TurnClient) -> None:
    """A worker answers while the client waits."""

    async def answer() -> None:
        (record,) = await pipeline.read(REQUESTS, 1)
        request = codec.decode(record.value, REQUEST)
        ids = request.turn._asdict()
        await pipeline.release([text(0, "Hel", **ids), completed("Hello", **ids)])

    async with client, asyncio.TaskGroup() as group:
        running = group.create_task(client.run("hi", timeout_s=PATIENCE_S))
        group.create_task(answer())
    view = running.result()
    assert view.closed
    assert view.reply == "Hello"


async def test_many_turns_can_be_followed_at_once(pipeline: Pipeline, client: TurnClient) -> None:
    """Each follower gets its own turn, on whatever partition."""
    turns = [TurnKey("default", f"thread-{number % 4}", f"turn-{number}") for number in range(12)]
    async with client, asyncio.TaskGroup() as group:
        followers = [group.create_task(follow(client, turn)) for turn in turns]
        begins = [text(0, turn.turn_id, **turn._asdict()) for turn in turns]
        ends = [completed(turn.turn_id, **turn._asdict()) for turn in turns]
        await pipeline.release([*begins, *ends])
    assert [follower.result() for follower in followers] == [list(own) for own in zip(begins, ends, strict=True)]


async def test_everything_can_be_followed_from_the_beginning(pipeline: Pipeline, client: TurnClient) -> None:
    """Turns of all partitions are folded, each on its own."""
    other: dict[str, Any] = {"thread_id": "thread-2"}
    await pipeline.release(
        [text(0, "abc"), text(0, "xyz", **other), text(1, "bcd"), completed("abcd"), completed("abcd")]
    )
    await pipeline.release([failed()])
    async with client, aclosing(client.follow_all(from_beginning=True)) as frames:
        seen = [await anext(frames) for _ in range(4)]
    assert [frame for frame in seen if frame.turn == TURN] == [text(0, "abc"), text(3, "d"), completed("abcd")]
    assert [frame for frame in seen if frame.turn != TURN] == [text(0, "xyz", **other)]


async def test_everything_can_be_followed_from_now_on(pipeline: Pipeline, client: TurnClient) -> None:
    """Of a turn that has begun, only the ending is shown, as what comes before its text is missing."""
    await pipeline.release([text(0, "abc")])
    async with client, aclosing(client.follow_all()) as frames:
        first = asyncio.create_task(anext(frames))
        number = 0
        while not first.done():  # until the follower is there to see it
            number += 1
            await pipeline.release([text(0, "marker", turn_id=f"marker-{number}")])
        assert (await first).turn != TURN
        await pipeline.release([text(3, "def"), completed_long("abcdef"), text(0, "new", turn_id="turn-2")])
        seen = [frame async for frame in _until(frames, text(0, "new", turn_id="turn-2"))]
    assert [frame for frame in seen if frame.turn == TURN] == [completed_long("abcdef")]


async def _until(frames: AsyncIterator[ReleasedFrame], last: ReleasedFrame) -> AsyncIterator[ReleasedFrame]:
    async for frame in frames:
        yield frame
        if frame == last:
            return


async def test_a_follower_that_is_cancelled_or_left_closes_its_connection(
    pipeline: Pipeline, client: TurnClient
) -> None:
    """Nothing stays open: an unclosed consumer would warn, and warnings fail these tests."""
    await pipeline.release([text(0, "abc")])
    async with client:
        waiting = asyncio.create_task(follow(client))
        await asyncio.sleep(0.3)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        async for _ in client.follow(TURN):
            break


async def test_a_client_refuses_a_prefix_without_topics(broker: Broker, prefix: str) -> None:
    """And does not bring any into being by asking, as it would where topics are created on demand."""
    connection = Connection(broker.bootstrap)
    with pytest.raises(TopicLayoutError, match="turngate topics create"):
        async with TurnClient(connection, Names(prefix)):
            pass
    assert await TopicAdmin(connection, Names(prefix)).list() == []


async def test_a_reader_needs_only_the_released_topic(broker: Broker, prefix: str) -> None:
    """Readers are denied the others; without `requests` there is nothing to submit to, and none is made."""
    pipeline = Pipeline(Connection(broker.bootstrap), Names(prefix))
    await make(broker, pipeline.names.topic(RELEASED_FRAMES), PARTITIONS)
    await pipeline.release([text(0, "abc"), completed("abc")])
    async with TurnClient(pipeline.connection, pipeline.names) as client:
        assert await follow(client) == [text(0, "abc"), completed("abc")]
        with pytest.raises(TopicLayoutError, match=rf"no topic {prefix}requests.*turngate topics create"):
            await client.submit("hello")
        with pytest.raises(TopicLayoutError):
            await client.cancel(TURN)
    assert set(await TopicAdmin(pipeline.connection, pipeline.names).describe()) == {f"{prefix}released"}


async def test_topics_with_different_partition_counts_are_refused(broker: Broker, prefix: str) -> None:
    """A request would go to one worker and its text come from another."""
    await make(broker, f"{prefix}requests", 2)
    await make(broker, f"{prefix}released", 3)
    with pytest.raises(TopicLayoutError, match="released: has 3 partitions, wanted 2"):
        async with TurnClient(Connection(broker.bootstrap), Names(prefix)):
            pass


async def test_a_client_that_was_not_entered_says_so(client: TurnClient) -> None:
    """It would have no connection to use."""
    with pytest.raises(RuntimeError, match="async with"):
        await client.submit("hello")


async def test_no_broker_is_an_error_that_says_what_to_do() -> None:
    """The address is named, and a way to get a broker."""
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:1 .*turngate up"):
        async with TurnClient(Connection("127.0.0.1:1", limit_s=0.3)):
            pass


@pytest.mark.embedded
async def test_a_broker_that_dies_under_the_client_is_an_error(tmp_path: Path) -> None:
    """A submission that nobody confirms is not taken for done, and leaving the client still works."""
    broker = EmbeddedBroker(tmp_path)
    await asyncio.to_thread(broker.start)
    try:
        connection = Connection(broker.bootstrap, limit_s=2)
        await TopicAdmin(connection, Names()).create(PARTITIONS)
        async with TurnClient(connection) as client:
            await client.submit("hello", thread_id=TURN.thread_id)
            await asyncio.to_thread(broker.stop)
            with pytest.raises(BrokerUnreachableError):
                await client.submit("hello", thread_id=TURN.thread_id)
            with pytest.raises(BrokerUnreachableError):
                await client.cancel(TURN)
    finally:
        await asyncio.to_thread(broker.stop)


async def test_reading_starts_no_later_than_the_broker_says_the_log_ends(
    pipeline: Pipeline, client: TurnClient
) -> None:
    """A batch of several records just before the submission does not hide the frames that come after it."""
    name = pipeline.names.topic(RELEASED_FRAMES)
    async with client:
        async with pipeline.connection.producer(linger_ms=50) as producer:
            sent = [
                await producer.send(
                    name,
                    codec.encode(text(0, "x", turn_id=f"o{number}")),
                    key=TURN.thread.encode(),
                    partition=PARTITION,
                )
                for number in range(5)
            ]
            await asyncio.gather(*sent)
        await client.submit("hi", **TURN._asdict())
        await pipeline.release([text(0, "abc"), completed("abc")])
        assert await follow(client) == [text(0, "abc"), completed("abc")]
    async with pipeline.connection.consumer() as consumer:
        place = TopicPartition(name, PARTITION)
        assert (await consumer.end_offsets([place]))[place] == 7
