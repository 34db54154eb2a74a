"""The call pool, with scripted models, a model server and adapters that misbehave."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import pytest

from streams.models.adapter import ModelAdapter
from streams.models.call import CallEnd
from streams.models.calls import CallPool, PoolClosedError
from streams.models.delta import Delta
from streams.models.errors import ModelNotConfiguredError
from streams.models.openai import OpenAIAdapter, OpenAISettings
from streams.models.routing import router_of
from streams.models.script import ScriptAdapter
from streams.private_ids import Private
from tests.streams.models.broker import BrokerDownError, Producer
from tests.streams.models.model_server import Exchange, ModelServer, chunk, never, usage_chunk
from tests.streams.models.requests import request, scripted
from topics.ids import TurnKey
from topics.records import CancelCall, ModelFrame, PromptRequest

NOW = 1_700_000_000.0


class Runner:
    """A pool with what a model runner has around it: a producer, a journal of ends, and a place to die."""

    def __init__(self, adapter: ModelAdapter | None = None, *, producer: Producer | None = None, **limits: Any) -> None:
        self.producer = producer or Producer()
        self.ends: dict[str, CallEnd] = {}
        self.fatal: list[BaseException] = []
        self.ended = asyncio.Event()
        used = adapter or ScriptAdapter()
        self.pool = CallPool(lambda _: used, self.producer.send, on_fatal=self.fatal.append, now=lambda: NOW, **limits)

    def start(self, *asked: PromptRequest) -> None:
        """Start these calls."""
        for each in asked:
            assert self.pool.start(each, self.on_done)

    async def on_done(self, asked: PromptRequest, end: CallEnd) -> None:
        """Journal an end: a call ends once, and after its last frame."""
        assert asked.turn_id not in self.ends
        assert self.producer.of(asked.turn_id)[-1].seq == end.frames - 1
        self.ends[asked.turn_id] = end
        self.ended.set()

    async def run(self, *asked: PromptRequest) -> None:
        """Start these calls and wait until all have ended."""
        self.start(*asked)
        await asyncio.wait_for(self.pool.drain(), 20)


@pytest.fixture
async def runner() -> AsyncIterator[Callable[..., Runner]]:
    """Return what makes runners, and stops them in the end."""
    made: list[Runner] = []

    def make(*args: Any, **kwargs: Any) -> Runner:
        made.append(Runner(*args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        await each.pool.stop()


def cancel_of(asked: PromptRequest) -> CancelCall:
    """Return the record that cancels the call of `asked`."""
    return CancelCall(
        tenant=asked.tenant,
        thread_id=asked.thread_id,
        turn_id=asked.turn_id,
        step=asked.step,
        attempt=asked.attempt,
        partition=asked.partition,
    )


def numbers(frames: list[ModelFrame]) -> list[int | None]:
    """Return the frames' numbers."""
    return [frame.seq for frame in frames]


def error_type(frame: ModelFrame) -> str | None:
    """Return what kind of error ended a call."""
    return frame.error.type if frame.error else None


class Steps:
    """An adapter that a test makes speak, and that notes how it was left."""

    name = "steps"

    def __init__(self, *deltas: Delta | BaseException) -> None:
        self.deltas = deltas
        self.calls = 0
        self.at_work = 0
        self.most_at_work = 0
        self.cleaned_up = False
        self.spoke = asyncio.Event()
        self.go_on = asyncio.Event()

    async def stream(self, _: PromptRequest) -> AsyncGenerator[Delta, None]:
        """Yield or raise what was given, then wait for `go_on` and end."""
        self.calls += 1
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        try:
            for delta in self.deltas:
                if isinstance(delta, BaseException):
                    raise delta
                yield delta
            self.spoke.set()
            await self.go_on.wait()
        finally:
            self.at_work -= 1

    async def close(self) -> None:
        """Have nothing to close."""


async def test_the_frames_of_a_call_are_its_deltas_numbered(runner: Callable[..., Runner]) -> None:
    """They go to the partition that the request names, with the request's ids."""
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    asked = scripted("Hel", "lo", {"finish_reason": "stop", "usage": usage}, step=4, attempt=2, partition=9)
    run = runner()
    await run.run(asked)

    assert [(frame.text, frame.seq, frame.finish_reason) for frame in run.producer.frames] == [
        ("Hel", 0, None),
        ("lo", 1, None),
        (None, 2, "stop"),
    ]
    assert {(frame.turn, frame.step, frame.attempt) for frame in run.producer.frames} == {(asked.turn, 4, 2)}
    assert {partition for _, partition in run.producer.taken} == {9}
    assert run.producer.frames[-1].usage is not None
    assert run.ends == {"turn": CallEnd("finished", 3)}


async def test_many_calls_at_once_keep_their_order_and_have_no_gaps(runner: Callable[..., Runner]) -> None:
    """200 calls whose items come at random times, a few at a time, on a producer that confirms at random times."""
    dice = random.Random(7)
    asked, texts = [], {}
    for number in range(200):
        words = [f"{number}.{index} " for index in range(dice.randrange(40))]
        items = [{"text": word, "delay_s": dice.choice([0, 0, 0.001, 0.003])} for word in words]
        asked.append(scripted(*items, turn=f"turn-{number}", partition=number % 8))
        texts[f"turn-{number}"] = "".join(words)
    producer = Producer(confirms=False)

    async def confirm() -> None:
        while True:
            await asyncio.sleep(0.001)
            dice.shuffle(producer.waiting)
            for confirmation in producer.waiting[len(producer.waiting) // 3 :]:
                confirmation.set_result(None)
            del producer.waiting[len(producer.waiting) // 3 :]

    confirming = asyncio.create_task(confirm())
    run = runner(producer=producer, max_calls=50, max_unconfirmed=3)
    await run.run(*asked)
    confirming.cancel()

    for turn, text in texts.items():
        frames = producer.of(turn)
        assert numbers(frames) == list(range(len(frames)))
        assert "".join(frame.text or "" for frame in frames) == text
        assert [frame.finish_reason for frame in frames if frame.finish_reason] == ["stop"]
        assert run.ends[turn] == CallEnd("finished", len(frames))


async def test_one_attempt_is_called_once(runner: Callable[..., Runner]) -> None:
    """A prompt that is delivered again while its call is open changes nothing; another attempt is another call."""
    run = runner(Steps())
    run.start(request())

    assert not run.pool.start(request(), run.on_done)
    assert run.pool.start(request(attempt=1), run.on_done)
    assert run.pool.open_calls == 2


async def test_a_call_is_done_only_when_its_frames_are_confirmed(runner: Callable[..., Runner]) -> None:
    """The journal may not say `finished` before the broker has everything."""
    run = runner(producer=Producer(confirms=False))
    run.start(scripted("a"))
    await run.producer.until(2)
    await asyncio.sleep(0.01)
    ended_too_early = dict(run.ends)
    run.producer.confirm_all()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert ended_too_early == {}
    assert run.ends == {"turn": CallEnd("finished", 2)}


@pytest.mark.parametrize(("coalesce", "texts"), [(True, ["a", "b", "cde", None]), (False, [*"abcde", None])])
async def test_texts_that_pile_up_behind_a_slow_broker_share_a_frame(
    runner: Callable[..., Runner], coalesce: bool, texts: list[str | None]
) -> None:
    """Only behind a full window, and only if the pool is to; numbers have no gaps either way."""
    run = runner(producer=Producer(confirms=False), max_unconfirmed=2, coalesce=coalesce)
    run.start(scripted(*"abcde"))
    await run.producer.until(2)
    await asyncio.sleep(0.01)
    run.producer.confirm_all()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert [frame.text for frame in run.producer.frames] == texts
    assert numbers(run.producer.frames) == list(range(len(texts)))


async def test_a_model_faster_than_the_broker_is_held_back(runner: Callable[..., Runner]) -> None:
    """What waits in memory is bounded, however much there is to say."""
    drawn = 0

    class Endless(Steps):
        async def stream(self, _: PromptRequest) -> AsyncGenerator[Delta, None]:
            nonlocal drawn
            while True:
                drawn += 1
                yield Delta(reasoning=".")

    run = runner(Endless(), producer=Producer(confirms=False), max_unconfirmed=2, max_waiting=5)
    run.start(request())
    await run.producer.until(2)
    await asyncio.sleep(0.01)

    assert len(run.producer.taken) == 2
    assert drawn <= 2 + 1 + 5 + 1


async def test_a_large_delta_becomes_several_frames(runner: Callable[..., Runner]) -> None:
    """Each of them is small enough for a broker."""
    run = runner()
    await run.run(scripted("x" * 120_000))

    assert [len(frame.text or "") for frame in run.producer.frames] == [50_000, 50_000, 20_000, 0]
    assert numbers(run.producer.frames) == [0, 1, 2, 3]


async def test_a_cancelled_call_stops_the_provider_and_ends_with_an_error(
    server: ModelServer, adapter: OpenAIAdapter, runner: Callable[..., Runner]
) -> None:
    """The server sees the disconnect; the frames end with an error, so that a cut answer is never taken for a whole."""

    async def trickle(exchange: Exchange) -> None:
        while True:
            await exchange.send(chunk({"content": "."}))
            await asyncio.sleep(0.005)

    server.answer = trickle
    run = runner(adapter)
    run.start(request())
    await run.producer.until(3)

    assert run.pool.cancel(cancel_of(request()))
    await asyncio.wait_for(run.pool.drain(), 10)
    await asyncio.wait_for(server.disconnected.wait(), 10)
    frames = run.producer.frames
    assert numbers(frames) == list(range(len(frames)))
    assert [error_type(frame) for frame in frames] == [None] * (len(frames) - 1) + ["CallCancelledError"]
    assert frames[-1].finish_reason is None
    assert run.ends == {"turn": CallEnd("cancelled", len(frames))}


async def test_a_cancel_drops_what_was_not_sent_yet(runner: Callable[..., Runner]) -> None:
    """Nobody waits for it."""
    run = runner(
        Steps(*(Delta(reasoning=".") for _ in range(100))), producer=Producer(confirms=False), max_unconfirmed=2
    )
    run.start(request())
    await run.producer.until(2)
    run.pool.cancel(cancel_of(request()))
    run.producer.confirm_all()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert len(run.producer.frames) <= 4
    assert error_type(run.producer.frames[-1]) == "CallCancelledError"
    assert numbers(run.producer.frames) == list(range(len(run.producer.frames)))


@pytest.mark.parametrize("pause", [False, True])
async def test_a_cancel_right_after_the_start_is_not_lost(runner: Callable[..., Runner], pause: bool) -> None:
    """Before the call has made its first step, and after it."""
    adapter = Steps()
    run = runner(adapter)
    run.start(request())
    if pause:
        await asyncio.sleep(0)
    run.pool.cancel(cancel_of(request()))
    await asyncio.wait_for(run.pool.drain(), 10)

    assert [error_type(frame) for frame in run.producer.frames] == ["CallCancelledError"]
    assert adapter.at_work == 0


async def test_a_cancel_of_an_ended_call_changes_nothing(runner: Callable[..., Runner]) -> None:
    """It came too late, and says no more than that."""
    run = runner()
    run.start(scripted("a"))
    await asyncio.wait_for(run.ended.wait(), 10)
    await asyncio.sleep(0.01)

    assert not run.pool.cancel(cancel_of(request()))
    assert run.ends == {"turn": CallEnd("finished", 2)}


async def test_a_call_past_its_deadline_ends_with_a_timeout(
    server: ModelServer, adapter: OpenAIAdapter, runner: Callable[..., Runner]
) -> None:
    """What it said until then is kept, and the connection is closed."""

    async def stall(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "Hel"}))
        await never(exchange)

    server.answer = stall
    run = runner(adapter, grace_s=0.1)
    await run.run(request(deadline_at=NOW + 1))
    await asyncio.wait_for(server.disconnected.wait(), 10)

    assert [(frame.text, error_type(frame)) for frame in run.producer.frames] == [
        ("Hel", None),
        (None, "ModelTimeoutError"),
    ]
    assert run.ends == {"turn": CallEnd("failed", 2)}


async def test_a_call_whose_deadline_is_past_is_not_made(runner: Callable[..., Runner]) -> None:
    """A prompt may have waited longer than the turn can; its error comes no sooner than any other's."""
    adapter = Steps()
    run = runner(adapter, grace_s=0.1)
    await run.run(request(deadline_at=NOW))

    assert [error_type(frame) for frame in run.producer.frames] == ["ModelTimeoutError"]
    assert adapter.calls == 0


async def test_a_cancel_after_the_deadline_comes_before_the_timeout(runner: Callable[..., Runner]) -> None:
    """The turn worker ends a turn by its own clock: the runner leaves it the time to, for a call made or not."""
    adapter = Steps()
    run = runner(adapter, grace_s=1000)
    run.start(request("made", deadline_at=NOW + 0.01), request("not made", deadline_at=NOW))
    await asyncio.sleep(0.05)
    too_early = list(run.producer.frames)
    for name in ("made", "not made"):
        run.pool.cancel(cancel_of(request(name)))
    await asyncio.wait_for(run.pool.drain(), 10)

    assert too_early == []
    assert {frame.turn_id: error_type(frame) for frame in run.producer.frames} == {
        "made": "CallCancelledError",
        "not made": "CallCancelledError",
    }
    assert adapter.calls == 1


async def test_who_gets_a_slot_after_its_deadline_does_not_use_it(runner: Callable[..., Runner]) -> None:
    """Nobody waits for the answer any more, and others wait for the slot."""
    adapter = Steps()
    run = runner(adapter, max_calls=1, grace_s=1000)
    run.start(request("first"), request("late", deadline_at=NOW + 0.01), request("next"))
    await asyncio.sleep(0.05)
    adapter.go_on.set()
    await run.producer.until(2)

    assert {frame.turn_id for frame in run.producer.frames} == {"first", "next"}
    assert adapter.calls == 2


async def test_calls_beyond_the_limit_wait_and_their_deadline_runs(runner: Callable[..., Runner]) -> None:
    """At most so many provider calls at once; who waits can time out or be cancelled without having been made."""
    adapter = Steps()
    run = runner(adapter, max_calls=2, grace_s=0.05)
    run.start(*(request(f"turn-{number}") for number in range(2)))
    run.start(request("late", deadline_at=NOW + 0.05), request("unwanted"), request("patient"))
    await asyncio.wait_for(run.ended.wait(), 10)
    run.pool.cancel(cancel_of(request("unwanted")))
    await run.producer.until(2)
    calls_made = adapter.calls
    adapter.go_on.set()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert calls_made == 2
    assert adapter.calls == 3
    assert adapter.most_at_work == 2
    assert [error_type(frame) for turn in ("late", "unwanted") for frame in run.producer.of(turn)] == [
        "ModelTimeoutError",
        "CallCancelledError",
    ]
    assert len(run.producer.of("patient")) == 1


async def test_room_is_there_when_a_call_has_ended(runner: Callable[..., Runner]) -> None:
    """The app takes its next prompt then."""
    adapter = Steps()
    run = runner(adapter, max_calls=1)
    await asyncio.wait_for(run.pool.has_room(), 10)
    run.start(request())
    waiting = asyncio.create_task(run.pool.has_room())
    await asyncio.sleep(0.01)
    waited = not waiting.done()
    adapter.go_on.set()
    await asyncio.wait_for(waiting, 10)

    assert waited
    assert run.pool.open_calls == 0


@pytest.mark.parametrize(
    ("raised", "kind", "retryable"),
    [
        (ValueError("a secret answer"), "ValueError", False),
        (ConnectionResetError("a secret answer"), "ConnectionResetError", True),
        (TimeoutError("a secret answer"), "TimeoutError", True),
        (asyncio.CancelledError("a secret answer"), "CancelledError", False),
    ],
)
async def test_an_adapter_that_raises_ends_its_call_and_no_other(
    runner: Callable[..., Runner],
    caplog: pytest.LogCaptureFixture,
    raised: BaseException,
    kind: str,
    retryable: bool,
) -> None:
    """The error names the class; neither the frame nor the log has the message, which may quote an answer."""
    caplog.set_level(logging.DEBUG)
    run = runner(Steps(Delta(text="Hel"), raised))
    await run.run(request())

    text, last = run.producer.frames
    assert text.text == "Hel"
    assert last.error is not None
    assert (last.error.type, last.error.message, last.error.retryable) == (kind, None, retryable)
    assert run.ends == {"turn": CallEnd("failed", 2)}
    assert run.fatal == []
    assert kind in caplog.text
    assert "secret" not in caplog.text


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what the pool has warned of."""
    return [record.getMessage() for record in caplog.records if record.name == "streams.models.call"]


async def test_a_failed_call_is_logged_once_with_its_ids(
    runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture
) -> None:
    """Hashed, with our own wording, whether an adapter raised the error or said it."""
    ours = ModelNotConfiguredError("set this")
    raised, quoted = (Private(TurnKey("acme", "thread", turn_id)) for turn_id in ("raised", "said"))
    for asked, said in ((request("raised", step=2, attempt=1), ours), (request("said"), Delta.failed(ours))):
        run = runner(Steps(said))
        await run.run(asked)

    assert warnings_of(caplog) == [
        f"model call failed: turn {raised}, step 2, attempt 1: ModelNotConfiguredError: set this",
        f"model call failed: turn {quoted}, step 0, attempt 0: ModelNotConfiguredError: set this",
    ]


async def test_a_providers_wording_is_not_logged(
    server: ModelServer, adapter: OpenAIAdapter, runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture
) -> None:
    """Its class and its status are: a provider may quote the prompt."""

    async def refuse(exchange: Exchange) -> None:
        await exchange.fail(401, {"message": "a secret answer"})

    server.answer = refuse
    caplog.set_level(logging.WARNING)
    await runner(adapter).run(request())

    [warning] = warnings_of(caplog)
    assert warning.endswith(": AuthenticationError, HTTP status 401")
    assert "secret" not in caplog.text


async def test_a_scripts_own_error_is_logged_without_its_words(
    runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture
) -> None:
    """Its type is the caller's word too, even where it is spelt as one of ours."""
    await runner().run(scripted({"error": {"type": "ModelTimeoutError", "message": "a secret answer"}}))

    [warning] = warnings_of(caplog)
    assert "secret" not in warning
    assert "ModelTimeoutError" not in warning


async def test_what_did_not_fail_is_not_logged(runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture) -> None:
    """A cancelled call has not, nor has one that finished."""
    run = runner()
    run.start(scripted("a", turn="finished"), scripted({"hang": True}, turn="cancelled"))
    run.pool.cancel(cancel_of(request("cancelled")))
    await asyncio.wait_for(run.pool.drain(), 10)

    assert {end.outcome for end in run.ends.values()} == {"finished", "cancelled"}
    assert warnings_of(caplog) == []


async def test_an_error_of_this_package_keeps_its_message(runner: Callable[..., Runner]) -> None:
    """It was written here and quotes nothing."""
    run = runner(Steps(ModelNotConfiguredError("set this")))
    await run.run(request())

    [last] = run.producer.frames
    assert last.error is not None
    assert (last.error.type, last.error.message) == ("ModelNotConfiguredError", "set this")


async def test_an_adapter_that_cannot_even_be_chosen_ends_its_call(runner: Callable[..., Runner]) -> None:
    """Choosing is part of the call."""

    def choose(_: PromptRequest) -> ModelAdapter:
        raise KeyError("a secret answer")

    producer = Producer()
    pool = CallPool(choose, producer.send, on_fatal=lambda _: None, now=lambda: NOW)
    run = runner()
    run.pool, run.producer = pool, producer
    await run.run(request())

    assert [error_type(frame) for frame in producer.frames] == ["KeyError"]


async def test_output_that_just_ends_is_an_error(runner: Callable[..., Runner]) -> None:
    """An adapter that forgets its finish does not make an answer whole."""
    adapter = Steps(Delta(text="Hel"))
    adapter.go_on.set()
    run = runner(adapter)
    await run.run(request())

    assert [error_type(frame) for frame in run.producer.frames] == [None, "UnfinishedStreamError"]
    assert run.ends == {"turn": CallEnd("failed", 2)}


async def test_nothing_follows_the_last_delta(runner: Callable[..., Runner]) -> None:
    """What an adapter says after its finish is not sent, and it is not kept at work until the broker has the finish."""
    adapter = Steps(Delta(finish_reason="stop"), Delta(text="more"))
    run = runner(adapter, producer=Producer(confirms=False))
    run.start(request())
    await run.producer.until(1)
    at_work = adapter.at_work
    run.producer.confirm_all()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert at_work == 0
    assert [frame.finish_reason for frame in run.producer.frames] == ["stop"]


async def test_a_frame_that_cannot_be_sent_is_fatal(runner: Callable[..., Runner]) -> None:
    """All calls are given up, none is reported as done, and no new one is taken."""
    adapter = Steps(Delta(text="a"))
    run = runner(adapter)
    run.start(request("first"), request("second"))
    await run.producer.until(2)
    run.producer.refuse_with = BrokerDownError()
    adapter.go_on.set()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert [type(exc) for exc in run.fatal] == [BrokerDownError]
    assert run.ends == {}
    with pytest.raises(PoolClosedError):
        run.pool.start(request("third"), run.on_done)


@pytest.mark.parametrize("failure", [BrokerDownError(), None])
async def test_a_frame_that_is_not_confirmed_is_fatal_at_once(
    runner: Callable[..., Runner], failure: Exception | None
) -> None:
    """Also while the model is silent, and also if the producer only drops it."""
    adapter = Steps(Delta(text="a"))
    run = runner(adapter, producer=Producer(confirms=False))
    run.start(request("first"), request("second"))
    await run.producer.until(2)
    for confirmation in run.producer.waiting:
        if failure:
            confirmation.set_exception(failure)
        else:
            confirmation.cancel()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert len(run.fatal) == 1
    assert run.ends == {}
    assert adapter.at_work == 0


async def test_a_producer_that_is_cancelled_is_fatal(runner: Callable[..., Runner]) -> None:
    """A call does not vanish without a word because its producer was stopped first."""
    run = runner()
    run.producer.refuse_with = asyncio.CancelledError()
    await run.run(scripted("a"))

    assert [type(exc) for exc in run.fatal] == [asyncio.CancelledError]
    assert run.ends == {}


async def test_an_end_that_cannot_be_journaled_is_fatal(runner: Callable[..., Runner]) -> None:
    """Going on would leave the journal behind the truth."""

    async def fail(_: PromptRequest, __: CallEnd) -> None:
        raise BrokerDownError

    run = runner()
    run.pool.start(scripted("a"), fail)
    await asyncio.wait_for(run.pool.drain(), 10)

    assert [type(exc) for exc in run.fatal] == [BrokerDownError]


@pytest.mark.parametrize("pause", [False, True])
async def test_abandoned_partitions_fall_silent_and_others_go_on(runner: Callable[..., Runner], pause: bool) -> None:
    """Their calls belong to another runner now: no frame, no end, no connection."""
    adapter = Steps(Delta(text="a"))
    run = runner(adapter)
    run.start(request("gone", partition=1), request("kept", partition=2))
    if pause:
        await run.producer.until(2)
    await run.pool.abandon({1})
    at_work, said = adapter.at_work, len(run.producer.of("gone"))
    adapter.go_on.set()
    await asyncio.wait_for(run.pool.drain(), 10)

    assert at_work <= 1
    assert adapter.calls == (2 if pause else 1)
    assert len(run.producer.of("gone")) == said == (1 if pause else 0)
    assert list(run.ends) == ["kept"]
    assert run.fatal == []


async def test_draining_ends_what_is_open_and_takes_nothing_new(runner: Callable[..., Runner]) -> None:
    """A worker that is asked to go finishes its calls first."""
    adapter = Steps(Delta(text="a"))
    run = runner(adapter)
    run.start(request())
    draining = asyncio.create_task(run.pool.drain())
    await asyncio.wait_for(adapter.spoke.wait(), 10)

    with pytest.raises(PoolClosedError):
        run.pool.start(request("new"), run.on_done)
    assert not draining.done()
    adapter.go_on.set()
    await asyncio.wait_for(draining, 10)
    assert list(run.ends) == ["turn"]


async def test_stopping_closes_connections_and_reports_nothing(
    server: ModelServer, adapter: OpenAIAdapter, runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture
) -> None:
    """The successor finds these calls started, and reports them; nothing has gone wrong here."""
    server.answer = never
    run = runner(adapter)
    run.start(request())
    await asyncio.wait_for(server.began.wait(), 10)
    await run.pool.stop()
    await asyncio.wait_for(server.disconnected.wait(), 10)

    assert run.producer.frames == []
    assert run.ends == {}
    assert run.pool.open_calls == 0
    assert [record for record in caplog.records if record.name.startswith("streams.")] == []


async def test_stopping_waits_until_adapters_have_cleaned_up(runner: Callable[..., Runner]) -> None:
    """Whoever closes the adapters next finds no call at work."""

    class Slow(Steps):
        async def stream(self, asked: PromptRequest) -> AsyncGenerator[Delta, None]:
            try:
                async for delta in super().stream(asked):
                    yield delta
            finally:
                await asyncio.sleep(0.02)
                self.cleaned_up = True

    adapter = Slow(Delta(text="a"))
    run = runner(adapter)
    run.start(request())
    await run.producer.until(1)
    await run.pool.stop()

    assert adapter.cleaned_up


async def test_an_adapter_that_fails_when_it_is_stopped_stays_content_free(
    runner: Callable[..., Runner], caplog: pytest.LogCaptureFixture
) -> None:
    """What its clean-up raises is not logged by asyncio behind everybody's back either."""

    class Clumsy(Steps):
        async def stream(self, asked: PromptRequest) -> AsyncGenerator[Delta, None]:
            try:
                async for delta in super().stream(asked):
                    yield delta
            finally:
                raise ValueError("a secret answer")

    run = runner(Clumsy(Delta(text="a")))
    run.start(request())
    await run.producer.until(1)
    await run.pool.stop()
    gc.collect()

    assert "secret" not in caplog.text


async def test_routed_calls_reach_their_adapters(server: ModelServer) -> None:
    """The pool, the router and both adapters together: what a model runner is, but for its broker."""

    async def speak(exchange: Exchange) -> None:
        await exchange.send(chunk({"content": "from the server"}), chunk(finish="stop"), usage_chunk(7, 3))
        await exchange.done()

    server.answer = speak
    router = router_of(script_enabled=True, openai=OpenAISettings(base_url=server.base_url, model="m"))
    producer = Producer()
    run = Runner(producer=producer)
    run.pool = CallPool(router.adapter_for, producer.send, on_fatal=run.fatal.append, now=lambda: NOW)
    await run.run(scripted("from the script", turn="one"), request("two"))
    await router.close()

    assert [frame.text for frame in producer.of("one")] == ["from the script", None]
    assert [frame.text for frame in producer.of("two")] == ["from the server", None]
    assert producer.of("two")[-1].usage is not None
