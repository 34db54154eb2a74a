"""Readers of turns: from the beginning, from anywhere, at any gateway, however late; on real brokers."""

from __future__ import annotations

import asyncio
import uuid

import httpx
import pytest

from streams.gateway.hub import Bounds, Hub
from streams.gateway.ids import public_id
from tests.brokers.broker import Broker
from tests.streams.gateway.server import LIMIT_S, Sent, Served, Worker, answer, serving, text_of
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.ids import TurnKey
from topics.names import Names
from topics.records import CompletedFrame, FailedFrame, ResetFrame, TextFrame

PIECES = ("Write ", "to ", "[email]", ", \N{ROCKET} ", "please.")
TEXT = "".join(PIECES)


def a_turn(thread: str = "chat") -> TurnKey:
    """Return a turn that was never seen before."""
    return TurnKey("default", thread, uuid.uuid4().hex)


async def at_first(served: Served, turn: TurnKey, count: int, last: str | None = None) -> list[Sent]:
    """Return the next so many events of a turn and hang up."""
    return await served.events(public_id(turn), last, most=count)


async def test_a_reader_goes_on_at_another_gateway_after_each_event(broker: Broker, prefix: str) -> None:
    """Nothing lost, nothing doubled, whichever of two gateways it meets next."""
    turn = a_turn()
    async with serving(broker.bootstrap, prefix) as one, serving(broker.bootstrap, prefix) as two:
        worker = Worker(broker.bootstrap, prefix, one.settings.partitions)
        frames = answer(turn, PIECES)
        got: list[Sent] = []
        for number, frame in enumerate(frames):
            await worker.release(frame)
            last = got[-1].id if got else None
            got += await at_first((one, two)[number % 2], turn, 1, last)
        assert text_of(got) == TEXT
        assert [event.name for event in got] == ["text"] * len(PIECES) + ["completed"]
        for served in (one, two):
            answered = await served.http.get(
                f"/v1/turns/{public_id(turn)}/events", headers={"Last-Event-ID": got[-1].id}
            )
            assert answered.status_code == httpx.codes.NO_CONTENT


async def test_frames_that_come_twice_are_sent_once(broker: Broker, prefix: str) -> None:
    """As after a worker's death: cut differently, and a higher attempt without its reset."""
    turn = a_turn()
    ids = turn._asdict()
    async with serving(broker.bootstrap, prefix) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        await worker.release(
            TextFrame(**ids, text="It is"),
            TextFrame(**ids, text="It is wrong"),
            TextFrame(**ids, offset=5, text=" wrong"),
        )
        first = await at_first(served, turn, 1)
        await worker.release(
            TextFrame(**ids, attempt=1, text="It is right."),
            ResetFrame(**ids, attempt=1),
            TextFrame(**ids, offset=11, text=" indeed"),
            CompletedFrame(**ids, attempt=1, reply="It is right.", length=12, finish_reason="stop"),
        )
        rest = await served.events(public_id(turn), first[-1].id)
        assert [event.name for event in rest] == ["reset", "text", "completed"]
        assert rest[1].data["text"] == "It is right."


async def hub_on(broker: Broker, prefix: str, **bounds: float) -> Hub:
    """Return a hub that is not entered yet, on topics that are there."""
    connection, names = Connection(broker.bootstrap), Names(prefix)
    await TopicAdmin(connection, names).create(2, 1)
    return Hub(connection, names, 2, Bounds(**bounds))  # type: ignore[arg-type] # some of them are counts


async def test_a_turn_that_began_before_the_hub_is_read_again_whole(broker: Broker, prefix: str) -> None:
    """Nothing is shown of it before that: half a turn would be shown with a hole."""
    turn = a_turn()
    ids = turn._asdict()
    worker = Worker(broker.bootstrap, prefix, 2)
    hub = await hub_on(broker, prefix, lookback_s=0.0)
    await worker.release(*answer(a_turn(), ["other"]), TextFrame(**ids, text="Let me look. "))
    await asyncio.sleep(0.1)
    async with hub:
        await worker.release(TextFrame(**ids, step=1, text="Here it is."))
        async with asyncio.timeout(LIMIT_S):
            while not any(held.view.turn == turn for held in hub.recent("default", 10)):  # noqa: ASYNC110 - nobody reads
                await asyncio.sleep(0.05)
        assert (await hub.whole(turn, limit_s=LIMIT_S)).view.text == "Let me look. Here it is."


async def test_a_turn_that_was_let_go_is_read_again(broker: Broker, prefix: str) -> None:
    """The hub holds three turns here, and there are ten."""
    turns = [a_turn(f"thread-{number}") for number in range(10)]
    worker = Worker(broker.bootstrap, prefix, 2)
    hub = await hub_on(broker, prefix, max_turns=3)
    async with hub:
        for turn in turns:
            await worker.release(*answer(turn, PIECES))
        for turn in turns:
            async with asyncio.timeout(LIMIT_S):
                while not (held := await hub.whole(turn, limit_s=LIMIT_S)).view.closed:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert held.view.reply == TEXT
        assert len(hub.recent("default", 100)) <= 3


async def test_the_second_copy_of_an_ending_is_not_taken_for_the_whole(broker: Broker, prefix: str) -> None:
    """A failed turn is submitted again, and the hub began after it had ended: its text is looked for."""
    turn = a_turn()
    ids = turn._asdict()
    worker = Worker(broker.bootstrap, prefix, 2)
    hub = await hub_on(broker, prefix, lookback_s=0.0, longest_turn_s=0.0)
    end = FailedFrame(**ids, step=1, offset=0, error="ModelFailedError", message="gone")
    await worker.release(TextFrame(**ids, text="Let me look."), end)
    await asyncio.sleep(0.1)
    async with hub:
        hub.expect(turn, new=False)
        await worker.release(end)
        async with asyncio.timeout(LIMIT_S):
            with hub.reader(turn) as (held, reader):
                while not (held.whole and held.view.closed):
                    await reader.news(1.0)
        assert held.view.text == "Let me look."


async def test_an_unknown_turn_is_pending_and_found_as_soon_as_it_is_released(broker: Broker, prefix: str) -> None:
    """A reader may be at another gateway than the one that took the request, before there is anything to read."""
    turn = a_turn()
    async with serving(broker.bootstrap, prefix, gateway_keep_alive_s=0.1) as served:
        state = (await served.http.get(f"/v1/turns/{public_id(turn)}")).json()
        assert (state["state"], state["text"]) == ("pending", "")
        reading = asyncio.create_task(served.events(public_id(turn)))
        await asyncio.sleep(0.5)
        await Worker(broker.bootstrap, prefix, served.settings.partitions).release(*answer(turn, PIECES))
        assert text_of(await reading) == TEXT


async def test_frames_that_contradict_each_other_are_shown_to_nobody(broker: Broker, prefix: str) -> None:
    """The stream ends with the fault, and the turn's text is not told."""
    turn = a_turn()
    async with serving(broker.bootstrap, prefix) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        await worker.release(TextFrame(**turn._asdict(), text="one"), TextFrame(**turn._asdict(), text="two"))
        *_, event = await served.events(public_id(turn))
        assert (event.name, event.data["error"]["code"]) == ("contradicted", "contradicted")
        state = (await served.http.get(f"/v1/turns/{public_id(turn)}")).json()
        assert (state["state"], state["text"]) == ("contradicted", "")


@pytest.mark.only_brokers("embedded")
async def test_many_readers_of_many_turns_each_get_every_character(broker: Broker, prefix: str) -> None:
    """The small form of what bench/gateway.py measures; the hub reads each record once."""
    turns = [a_turn(f"thread-{number}") for number in range(10)]
    text = ["".join(chr(ord("a") + (at + number) % 26) for at in range(7)) + "\N{ROCKET}" for number in range(40)]
    async with serving(broker.bootstrap, prefix) as served:
        worker = Worker(broker.bootstrap, prefix, served.settings.partitions)
        readers = [asyncio.create_task(served.events(public_id(turns[number % len(turns)]))) for number in range(100)]
        frames = [answer(turn, text) for turn in turns]
        for number in range(len(text) + 1):
            await worker.release(*(one[number] for one in frames))
        for got in await asyncio.gather(*readers):
            assert text_of(got) == "".join(text)
            assert got[-1].name == "completed"
