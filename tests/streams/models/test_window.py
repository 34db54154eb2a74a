"""Sending frames in order with several on their way."""

from __future__ import annotations

import asyncio

import pytest

from streams.models.delta import Delta
from streams.models.frames import frame_of
from streams.models.window import FrameNotConfirmedError, SendWindow
from tests.streams.models.broker import BrokerDownError, Producer
from tests.streams.models.requests import request
from topics.records import ModelFrame


def frame(seq: int) -> ModelFrame:
    """Return a frame with this number."""
    return frame_of(request(), seq, Delta(text="x"))


def ignore(_: BaseException) -> None:
    """Hear of a failure that the test sees elsewhere."""


async def test_frames_are_sent_ahead_of_confirmations_up_to_the_limit() -> None:
    """The frame after the limit waits for the first confirmation, not for all."""
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=2, on_failure=ignore)
    await window.send(frame(0))
    await window.send(frame(1))
    third = asyncio.create_task(window.send(frame(2)))
    await asyncio.sleep(0.01)
    sent_too_early = len(producer.taken)
    producer.waiting.pop(0).set_result(None)
    await third

    assert sent_too_early == 2
    assert [(taken.seq, partition) for taken, partition in producer.taken] == [(0, 3), (1, 3), (2, 3)]


async def test_room_says_whether_it_was_waited_for() -> None:
    """That is the sign of a broker slower than the model."""
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=1, on_failure=ignore)

    assert not await window.room()
    await window.send(frame(0))
    asyncio.get_running_loop().call_soon(producer.confirm_all)
    assert await window.room()


async def test_confirmations_may_come_in_any_order() -> None:
    """Settling waits for the last of them."""
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=2, on_failure=ignore)
    await window.send(frame(0))
    await window.send(frame(1))
    settling = asyncio.create_task(window.settle())
    producer.waiting[1].set_result(None)
    await asyncio.sleep(0.01)
    settled_too_early = settling.done()
    producer.waiting[0].set_result(None)
    await settling

    assert not settled_too_early


async def test_a_failure_is_told_once_and_raised_from_then_on() -> None:
    """It is told as soon as it is known, also while nobody sends; later failures add nothing."""
    told: list[BaseException] = []
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=8, on_failure=told.append)
    await window.send(frame(0))
    await window.send(frame(1))
    for confirmation in producer.waiting:
        confirmation.set_exception(BrokerDownError())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert [type(failure) for failure in told] == [BrokerDownError]
    with pytest.raises(BrokerDownError):
        await window.send(frame(2))
    with pytest.raises(BrokerDownError):
        await window.settle()
    assert len(producer.taken) == 2


async def test_a_confirmation_that_is_cancelled_is_a_failure() -> None:
    """Whether the frame was written is then unknown."""
    told: list[BaseException] = []
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=8, on_failure=told.append)
    await window.send(frame(0))
    producer.waiting[0].cancel()

    with pytest.raises(FrameNotConfirmedError):
        await window.settle()
    assert [type(failure) for failure in told] == [FrameNotConfirmedError]


async def test_waiting_does_not_cancel_what_it_waits_for() -> None:
    """A confirmation is the producer's, whatever becomes of the call."""
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=8, on_failure=ignore)
    await window.send(frame(0))
    settling = asyncio.create_task(window.settle())
    await asyncio.sleep(0)
    settling.cancel()
    await asyncio.wait([settling])

    assert not producer.waiting[0].cancelled()


async def test_an_abandoned_window_tells_nothing() -> None:
    """Its frames are nobody's concern any more."""
    told: list[BaseException] = []
    producer = Producer(confirms=False)
    window = SendWindow(producer.send, 3, limit=8, on_failure=told.append)
    await window.send(frame(0))
    window.abandon()
    producer.waiting[0].set_exception(BrokerDownError())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert told == []
