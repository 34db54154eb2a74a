"""The queue between the provider and the producer."""

from __future__ import annotations

import asyncio

from streams.models.delta import Delta
from streams.models.mailbox import Mailbox

STOP = Delta(finish_reason="stop")


async def test_deltas_come_out_in_the_order_they_went_in() -> None:
    """First in, first out, the end last."""
    mailbox = Mailbox(10)
    for text in "abc":
        await mailbox.put(Delta(text=text))
    mailbox.close(STOP)

    assert [await mailbox.get() for _ in range(4)] == [*(Delta(text=text) for text in "abc"), STOP]


async def test_a_writer_is_held_back_while_the_mailbox_is_full() -> None:
    """It goes on as soon as the reader has taken something."""
    mailbox = Mailbox(1)
    await mailbox.put(Delta(text="a"))
    writer = asyncio.create_task(mailbox.put(Delta(text="b")))
    await asyncio.sleep(0)
    held_back = not writer.done()

    assert await mailbox.get() == Delta(text="a")
    await writer
    assert held_back
    assert await mailbox.get() == Delta(text="b")


async def test_the_end_finds_room_in_a_full_mailbox() -> None:
    """A call can always end."""
    mailbox = Mailbox(1)
    await mailbox.put(Delta(text="a"))
    mailbox.close(STOP)

    assert [await mailbox.get(), await mailbox.get()] == [Delta(text="a"), STOP]


async def test_a_reader_waits_for_what_comes_later() -> None:
    """An empty mailbox is not the end."""
    mailbox = Mailbox(1)
    reader = asyncio.create_task(mailbox.get())
    await asyncio.sleep(0)
    assert not reader.done()

    mailbox.close(STOP)
    assert await reader == STOP


async def test_clearing_drops_what_waits_and_lets_the_writer_go_on() -> None:
    """After a cancel only the end is of interest."""
    mailbox = Mailbox(1)
    await mailbox.put(Delta(text="a"))
    writer = asyncio.create_task(mailbox.put(Delta(text="b")))
    await asyncio.sleep(0)
    mailbox.clear()
    await writer

    assert await mailbox.get() == Delta(text="b")


async def test_texts_that_wait_are_joined_and_everything_else_keeps_its_place() -> None:
    """Joining stops at the first delta that is not text alone."""
    mailbox = Mailbox(10)
    mixed = Delta(text="d", reasoning="hm")
    for delta in (Delta(text="b"), Delta(text="c"), mixed, Delta(text="e")):
        await mailbox.put(delta)

    assert mailbox.join(Delta(text="a"), 100) == Delta(text="abc")
    assert mailbox.join(await mailbox.get(), 100) == mixed
    assert await mailbox.get() == Delta(text="e")


async def test_joining_keeps_within_the_limit() -> None:
    """What does not fit any more waits for the next frame."""
    mailbox = Mailbox(10)
    for text in ("bb", "cc"):
        await mailbox.put(Delta(text=text))

    assert mailbox.join(Delta(text="a"), 4) == Delta(text="abb")
    assert await mailbox.get() == Delta(text="cc")
