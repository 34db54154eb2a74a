"""Whatever lands on the topics: a dead letter that says where and why, never what; and everybody else goes on."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.integration.poison import (
    ANSWERED,
    DROPPED,
    EXPIRED,
    FAILED,
    MALFORMED,
    POISON,
    SECRET,
    TOO_LARGE,
    UNREADABLE,
    VERSION,
)
from tests.streams.cli.command import Done, turngate
from tests.topics.batches import ZSTD, send
from topics import codec, names
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.names import Topic
from topics.records import CancelledFrame, CompletedFrame, DeadLetter, FailedFrame

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: What tells an operator what to do.
ADVICE = re.compile(r"\b(publish|send|give|correct|flatten|upgrade|key it|check)\b")

#: Makes the good records that stand before and behind a bad one; none where a topic has none that are nobody's.
Neighbours = Callable[["Sent"], tuple[bytes, bytes] | tuple[()]]


@dataclass
class Sent:
    """What was sent of the table on one topic: what each record is to become, by its name, its letter or its turn."""

    letters: dict[str, str] = field(default_factory=dict)
    letter_ids: dict[str, str] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    turns: dict[TurnKey, str] = field(default_factory=dict)


async def send_all(pipeline: Pipeline, broker: Broker, topic: Topic, neighbours: Neighbours) -> Sent:
    """Send every poison that this broker lets in on `topic`, all to one partition."""
    sent = Sent()
    full = pipeline.names.topic(topic)
    for poison in POISON:
        becomes = poison.becomes.get(topic)
        if becomes is None or broker.name not in poison.brokers:
            continue
        turn = a_turn(pipeline, 1 if poison.elsewhere else 0)
        around = () if poison.alone else neighbours(sent)
        at = await send(broker.bootstrap, full, 0, poison.in_batch(topic, turn, around))
        if becomes in {ANSWERED, FAILED}:
            sent.turns[turn], sent.ends[poison.name] = poison.name, becomes
        elif becomes != DROPPED:
            sent.letters[poison.name] = becomes
            sent.letter_ids[f"{full}/0/{at + (1 if around else 0)}"] = poison.name
    return sent


async def letters_of(pipeline: Pipeline, topic: Topic, sent: Sent) -> dict[str, DeadLetter]:
    """Return the dead letters about `topic` by the name of the poison, once as many have come as were to come."""
    full = pipeline.names.topic(topic)

    def about(all_: list[DeadLetter]) -> dict[str, DeadLetter]:
        return {letter.id: letter for letter in all_ if letter.origin_topic == full and letter.origin_partition == 0}

    all_ = await pipeline.wait_for_records(
        names.DEAD_LETTERS, lambda all_: len(about(all_)) >= len(sent.letters), timeout_s=60
    )
    return {sent.letter_ids.get(one.id, one.id): one for one in about(all_).values()}


def a_turn(pipeline: Pipeline, partition: int) -> TurnKey:
    """Return a turn nobody knows, of a thread that belongs in `partition`."""
    while True:
        turn = TurnKey("default", f"thread-{uuid.uuid4().hex[:8]}", "turn")
        if turn.thread.partition(pipeline.client.partitions) == partition:
            return turn


def ended(view: TurnView) -> str:
    """Return how a turn of the table ended."""
    if isinstance(view.terminal, CompletedFrame) and view.text == "fine":
        return ANSWERED
    return FAILED if isinstance(view.terminal, FailedFrame) and not view.text else f"{view.terminal}"


def check_letters(pipeline: Pipeline, sent: Sent, letters: dict[str, DeadLetter]) -> None:
    """Compare what was refused, as what; no letter and no log says what was in the records, or is left without advice."""
    assert {name: letter.error for name, letter in letters.items()} == sent.letters
    for name, letter in letters.items():
        assert SECRET.encode() not in codec.encode(letter), name
        assert ADVICE.search(letter.reason), f"{name}: {letter.reason}"
    logs = "".join(worker.log.read_text() for worker in pipeline.workers)
    assert SECRET not in logs
    assert all(worker.process.poll() is None for worker in pipeline.workers)


async def test_poison_among_requests(pipeline: Pipeline, broker: Broker) -> None:
    """Each is refused by itself; the turns before and behind it in its own batch, and the odd ones, get their answers."""
    good: list[TurnKey] = []

    def neighbours(sent: Sent) -> tuple[bytes, bytes]:
        requests = []
        for _ in range(2):
            turn = a_turn(pipeline, 0)
            good.append(turn)
            sent.turns[turn] = f"good turn {len(good)}"
            sent.ends[sent.turns[turn]] = ANSWERED
            request = {**turn._asdict(), "message": "hello", "params": {"script": ["fi", "ne"]}}
            requests.append(json.dumps(request).encode())
        return requests[0], requests[1]

    sent = await send_all(pipeline, broker, names.REQUESTS, neighbours)
    views = await pipeline.read(sent.turns, timeout_s=120)
    assert len(good) > 100
    assert {name: ended(views[turn]) for turn, name in sent.turns.items()} == sent.ends
    check_letters(pipeline, sent, await letters_of(pipeline, names.REQUESTS, sent))


async def test_poison_among_frames(pipeline: Pipeline, broker: Broker) -> None:
    """The frames before and behind each, in its own batch, are one turn's, and its answer is whole."""
    turn = await pipeline.open_turn(a_turn(pipeline, 0).thread_id)
    frames = itertools.count()

    def neighbours(_: Sent) -> tuple[bytes, bytes]:
        one, other = (
            json.dumps({**turn._asdict(), "seq": seq, "text": f"{seq} "}).encode()
            for seq in itertools.islice(frames, 2)
        )
        return one, other

    sent = await send_all(pipeline, broker, names.FRAMES, neighbours)
    last = next(frames)
    await pipeline.send_raw(names.FRAMES, turn, b'{"seq":%d,"finish_reason":"stop"}' % last)
    view = (await pipeline.read([turn]))[turn]
    assert last > 100
    assert view.text == "".join(f"{seq} " for seq in range(last))
    check_letters(pipeline, sent, await letters_of(pipeline, names.FRAMES, sent))


@pytest.mark.parametrize("topic", [names.PROMPTS, names.CANCELS, names.TOOL_RESULTS], ids=lambda topic: topic.name)
async def test_poison_on_topics_between_workers(pipeline: Pipeline, broker: Broker, topic: Topic) -> None:
    """The calls before and behind it are made, and cancelled if that is wanted."""
    open_ = await pipeline.open_turn(a_turn(pipeline, 0).thread_id)
    sent = await send_all(pipeline, broker, topic, lambda _: ())
    check_letters(pipeline, sent, await letters_of(pipeline, topic, sent))
    after = await pipeline.submit("hello", a_turn(pipeline, 0).thread_id, ["still here"])
    await pipeline.client.cancel(open_)
    views = await pipeline.read([open_, after])
    assert views[after].text == "still here"
    assert isinstance(views[open_].terminal, CancelledFrame)


async def test_poison_among_tool_calls(broker: Broker, prefix: str, tmp_path: Path) -> None:
    """The calls before and behind each, in its own batch, are answered."""
    async with Pipeline(broker.bootstrap, prefix, tmp_path, "tests.integration.toolbox:deps") as pipeline:
        pipeline.start("tools")
        turn, ids = a_turn(pipeline, 0), itertools.count()

        def neighbours(_: Sent) -> tuple[bytes, bytes]:
            one, other = (
                json.dumps(
                    {
                        **turn._asdict(),
                        "partition": 0,
                        "call": {"id": str(number), "name": "add", "arguments": json.dumps({"a": number, "b": 1})},
                    }
                ).encode()
                for number in itertools.islice(ids, 2)
            )
            return one, other

        sent = await send_all(pipeline, broker, names.TOOL_CALLS, neighbours)
        calls = next(ids)
        results = await pipeline.wait_for_records(names.TOOL_RESULTS, lambda all_: len(all_) >= calls, timeout_s=60)
        assert calls > 100
        assert {one.tool_call_id: one.content for one in results} == {str(n): str(n + 1) for n in range(calls)}
        check_letters(pipeline, sent, await letters_of(pipeline, names.TOOL_CALLS, sent))


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


async def test_dead_letters_of_every_kind_can_be_listed_shown_and_sent_again(
    pipeline: Pipeline, broker: Broker, tmp_path: Path
) -> None:
    """Through the command: what a record says is shown to who asks for it, and a mended one is answered."""
    topic = pipeline.names.topic(names.REQUESTS)
    by_error: dict[str, str] = {}
    turns: dict[str, TurnKey] = {}
    for poison in POISON:
        error = poison.becomes.get(names.REQUESTS)
        if error in {None, ANSWERED, FAILED, *by_error} or poison.elsewhere or broker.name not in poison.brokers:
            continue
        turn = a_turn(pipeline, 0)
        at = await send(broker.bootstrap, topic, 0, poison.in_batch(names.REQUESTS, turn))
        by_error[str(error)], turns[str(error)] = f"{topic}/0/{at}", turn
    bomb = next(poison for poison in POISON if poison.packed == ZSTD and poison.alone)
    damaged = f"{topic}/0/{await send(broker.bootstrap, topic, 0, bomb.in_batch(names.REQUESTS, a_turn(pipeline, 0)))}"
    wanted = {*by_error.values(), damaged}
    await pipeline.wait_for_records(names.DEAD_LETTERS, lambda all_: wanted <= {letter.id for letter in all_})

    async def command(*arguments: str) -> Done:
        variables = {"TURNGATE_BROKER": broker.bootstrap, "TURNGATE_PREFIX": pipeline.names.prefix}
        return await asyncio.to_thread(partial(turngate, "dead-letters", *arguments, cwd=tmp_path, **variables))

    listed = await command("list")
    assert listed.status == 0
    assert wanted <= {line.split()[0] for line in listed.out.splitlines()}
    assert set(by_error) == {MALFORMED, VERSION, UNREADABLE, TOO_LARGE, EXPIRED}
    assert SECRET not in listed.out
    for error in (MALFORMED, UNREADABLE, EXPIRED):
        shown = await command("show", by_error[error])
        assert (shown.status, error in shown.out) == (0, True)
        assert ADVICE.search(shown.out)
        assert SECRET not in shown.out + shown.err
    with_content = await command("show", by_error[UNREADABLE], "--content")
    assert SECRET in with_content.out
    refused = await command("replay", damaged)
    assert (refused.status, "damaged" in refused.sentence) == (1, True)
    mended = await command("replay", by_error[UNREADABLE])
    assert mended.status == 0, mended.err
    # The turn was told that it failed when its request was refused: sent again it is the same turn, and stays as it is.
    view = (await pipeline.read([turns[UNREADABLE]]))[turns[UNREADABLE]]
    assert ended(view) == FAILED


@pytest.mark.only_brokers("apache", "docker")
async def test_what_an_aborted_transaction_wrote_was_never_written(pipeline: Pipeline, broker: Broker) -> None:
    """No turn, no dead letter; a committed one's turns are answered, and its markers stop nobody."""
    topic = pipeline.names.topic(names.REQUESTS)
    turns = [a_turn(pipeline, 0) for _ in range(4)]
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap, transactional_id=f"test-{uuid.uuid4().hex}")
    async with producer:
        for commit, turn in zip((True, False, False, True), turns, strict=True):
            await producer.begin_transaction()
            request = {**turn._asdict(), "message": "hello", "params": {"script": ["fine"]}}
            await producer.send(topic, json.dumps(request).encode(), key=turn.thread.encode(), partition=0)
            await producer.send(topic, bytes(1234 if commit else 4321), partition=0)
            await (producer.commit_transaction() if commit else producer.abort_transaction())
    views = await pipeline.read([turns[0], turns[3]])
    assert {ended(view) for view in views.values()} == {ANSWERED}
    released = await pipeline.records(names.RELEASED_FRAMES)
    assert not {frame.turn for frame in released} & {turns[1], turns[2]}
    letters = await pipeline.records(names.DEAD_LETTERS)
    sizes = [letter.size for letter in letters if letter.origin_topic == topic]
    assert (sizes.count(1234), sizes.count(4321)) == (2, 0)
