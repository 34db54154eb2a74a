"""Whatever lands on the topics: a dead letter that says where and why, never what; and everybody else goes on."""

from __future__ import annotations

import uuid

import pytest

from tests.integration.pipeline import Pipeline
from topics import codec, names
from topics.ids import TurnKey
from topics.records import DeadLetter, FailedFrame

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "the-secret-in-the-input"  # noqa: S105 - a marker to look for
POISON = {
    b"not json " + SECRET.encode(): "MalformedRecordError",
    b'["' + SECRET.encode() + b'"]': "MalformedRecordError",
    b'{"turn_id":"' + SECRET.encode() + b'"': "MalformedRecordError",
    b"\xff\xfe" + SECRET.encode(): "MalformedRecordError",
    b'{"v":99,"note":"' + SECRET.encode() + b'"}': "UnsupportedVersionError",
    b'{"message":"' + SECRET.encode() + b'"}': "MalformedRecordError",
    b'{"thread_id":5,"turn_id":"x","message":"' + SECRET.encode() + b'"}': "MalformedRecordError",
}


async def test_poison_is_refused_and_the_partition_goes_on(pipeline: Pipeline) -> None:
    """Each bad record on `requests` and `frames` gives one dead letter; turns on those partitions still complete."""
    before = len(await pipeline.records(names.DEAD_LETTERS))
    thread = pipeline.threads_of_every_partition()[0]
    turn = TurnKey("default", thread, "x")
    for topic in (names.REQUESTS, names.FRAMES):
        for raw in POISON:
            await pipeline.send_raw(topic, turn, raw, with_ids=False)
        await pipeline.send_raw(topic, turn, None)
    expected = 2 * (len(POISON) + 1)
    letters = await pipeline.wait_for_records(names.DEAD_LETTERS, lambda all_: len(all_) >= before + expected)
    after = await pipeline.submit("hello", thread, ["still here"])
    assert (await pipeline.read([after]))[after].text == "still here"
    new = [letter for letter in letters[before:] if isinstance(letter, DeadLetter)]
    assert len(new) == expected
    assert all(SECRET.encode() not in codec.encode(letter) for letter in new)
    assert all(letter.reason for letter in new)
    assert {letter.origin_topic for letter in new} == {
        pipeline.names.topic(names.REQUESTS),
        pipeline.names.topic(names.FRAMES),
    }
    logs = "".join(worker.log.read_text() for worker in pipeline.workers)
    assert SECRET not in logs


async def test_a_request_without_its_message_fails_the_turn_it_names(pipeline: Pipeline) -> None:
    """The caller who waits for the turn is told, once, what was wrong with the request."""
    thread = f"thread-{uuid.uuid4().hex[:8]}"
    turn = TurnKey("default", thread, "no-message")
    await pipeline.send_raw(names.REQUESTS, turn, b'{"agent":"a"}')
    view = (await pipeline.read([turn]))[turn]
    assert isinstance(view.terminal, FailedFrame)
    assert view.terminal.error == "InvalidRequestError"
    assert "message" in view.terminal.message


async def test_a_frame_nobody_asked_for_is_refused(pipeline: Pipeline) -> None:
    """A frame of an unknown turn is a dead letter with the turn's ids."""
    turn = TurnKey("default", f"thread-{uuid.uuid4().hex[:8]}", "unknown")
    await pipeline.send_raw(names.FRAMES, turn, b'{"seq":0,"text":"' + SECRET.encode() + b'"}')
    letters = await pipeline.wait_for_records(
        names.DEAD_LETTERS, lambda all_: any(letter.turn_id == "unknown" for letter in all_)
    )
    (letter,) = [letter for letter in letters if letter.turn_id == "unknown"]
    assert letter.error == "UnknownTurnError"
    assert SECRET.encode() not in codec.encode(letter)


async def test_a_bad_frame_fails_its_turn_at_once(pipeline: Pipeline) -> None:
    """An answer that lost a frame can never be whole: the turn ends visibly and shows nothing of what was held."""
    turn = await pipeline.open_turn(f"thread-{uuid.uuid4().hex[:8]}")
    await pipeline.send_raw(names.FRAMES, turn, b'{"seq":"zero","text":5}')
    view = (await pipeline.read([turn]))[turn]
    assert isinstance(view.terminal, FailedFrame)
    assert view.terminal.error == "ModelFailedError"


async def test_a_request_in_the_wrong_partition_is_refused(pipeline: Pipeline) -> None:
    """The dead letter says in which partition the record belongs."""
    turn = TurnKey("default", f"thread-{uuid.uuid4().hex[:8]}", "misplaced")
    right = turn.thread.partition(pipeline.client.partitions)
    wrong = (right + 1) % pipeline.client.partitions
    await pipeline.send_raw(names.REQUESTS, turn, b'{"message":"hello"}', partition=wrong)
    letters = await pipeline.wait_for_records(
        names.DEAD_LETTERS, lambda all_: any(letter.turn_id == "misplaced" for letter in all_)
    )
    (letter,) = [letter for letter in letters if letter.turn_id == "misplaced"]
    assert letter.error == "WrongPartitionError"
    assert str(right) in letter.reason
