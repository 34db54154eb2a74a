"""The inbox: emptied in batches, bounded for those who can wait, open for those who cannot."""

from __future__ import annotations

import asyncio

from streams.inbox import Inbox
from tests.memory.simtime import settled, simulate


def test_everything_that_waits_is_taken_in_order_up_to_a_batch() -> None:
    """The rest waits for the next one."""

    async def main() -> None:
        inbox: Inbox[int] = Inbox(batch=3)
        for number in range(5):
            inbox.put(number)
        assert await inbox.take() == [0, 1, 2]
        assert await inbox.take() == [3, 4]

    simulate(main())


def test_taking_waits_for_the_first_item() -> None:
    """And returns as soon as there is one."""

    async def main() -> None:
        inbox: Inbox[int] = Inbox()
        taking = asyncio.create_task(inbox.take())
        await settled()
        assert not taking.done()
        inbox.put(1)
        assert await taking == [1]
        again = asyncio.create_task(inbox.take())
        await settled()
        assert not again.done()
        again.cancel()

    simulate(main())


def test_a_nudge_ends_the_wait_with_nothing() -> None:
    """Once: the next one waits again."""

    async def main() -> None:
        inbox: Inbox[int] = Inbox()
        inbox.nudge()
        assert await inbox.take() == []
        taking = asyncio.create_task(inbox.take())
        await settled()
        assert not taking.done()
        taking.cancel()

    simulate(main())


def test_delivering_waits_while_the_inbox_is_full_and_news_does_not() -> None:
    """The loop may be waiting for the news: it must always find its way in."""

    async def main() -> None:
        inbox: Inbox[str] = Inbox(limit=2, batch=2)
        await inbox.deliver("a")
        await inbox.deliver("b")
        waiting = [asyncio.create_task(inbox.deliver(item)) for item in ("c", "d")]
        await settled()
        assert not any(task.done() for task in waiting)
        inbox.put("news")
        assert await inbox.take() == ["a", "b"]
        await settled()
        assert [task.done() for task in waiting] == [True, False], "there was room for one"
        assert await inbox.take() == ["news", "c"]
        assert await inbox.take() == ["d"]

    simulate(main())


def test_delivering_waits_while_much_is_in_the_inbox_however_few_items_it_is() -> None:
    """Records are of any size up to a megabyte; what is taken makes room by its own size."""

    async def main() -> None:
        inbox: Inbox[str] = Inbox(limit_bytes=100, batch=1)
        await inbox.deliver("large", 90)
        await inbox.deliver("small", 10)
        waiting = asyncio.create_task(inbox.deliver("next", 1))
        await settled()
        assert not waiting.done()
        assert len(inbox) == 2
        assert await inbox.take() == ["large"]
        await settled()
        assert waiting.done()
        assert [await inbox.take(), await inbox.take()] == [["small"], ["next"]]

    simulate(main())


def test_a_closed_inbox_is_empty_and_lets_go_of_who_waits() -> None:
    """Whoever delivers must go on: its partition is somebody else's now."""

    async def main() -> None:
        inbox: Inbox[str] = Inbox(limit=1)
        await inbox.deliver("a")
        waiting = [asyncio.create_task(inbox.deliver(item)) for item in ("b", "c")]
        await settled()
        inbox.close()
        await asyncio.gather(*waiting)
        inbox.put("d")
        await inbox.deliver("e")
        inbox.nudge()
        assert await inbox.take() == []

    simulate(main())
