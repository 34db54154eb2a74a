"""The Faust app as it is set up: what waits for acknowledgements, and by what name its group knows it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest

from streams.faust_shell.base import AppSettings, JournalApp
from topics.connection import Connection
from topics.names import Names


def app(**settings: Any) -> JournalApp:
    """Return an app that is not started."""
    return JournalApp(AppSettings(Connection("127.0.0.1:1"), Names("test."), 4, "turns", 6.0, **settings))


class Unacknowledged:
    """A consumer with a record that nobody acknowledges."""

    async def wait_empty(self) -> None:
        """Wait as Faust's consumer does: without an end."""
        await asyncio.Event().wait()


async def test_a_rebalance_waits_until_all_is_acknowledged() -> None:
    """What was delivered is journaled before partitions move."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await app()._consumer_wait_empty(cast("Any", Unacknowledged()), logging.getLogger())


async def test_a_worker_that_was_told_to_stop_waits_for_no_acknowledgement() -> None:
    """Its work was stopped first, so there will be none: it would stay in its group, and serve nobody."""
    stopping = app()
    stopping._stopped_set()
    async with asyncio.timeout(30):
        await stopping._consumer_wait_empty(cast("Any", Unacknowledged()), logging.getLogger())


def test_a_static_member_has_its_own_name_in_its_group() -> None:
    """And without one, Kafka makes a name up at every start."""
    assert app(static_member="worker-1").conf.consumer_group_instance_id == "worker-1"
    assert app().conf.consumer_group_instance_id is None
