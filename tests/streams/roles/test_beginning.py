"""What a worker looks at before it joins its group."""

from __future__ import annotations

import pytest

from streams.roles.beginning import usable_partitions
from tests.brokers.broker import Broker
from topics import names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.errors import SealedRecordError
from topics.key_ring import KeyRing
from topics.names import JournalRole, Names, Topic
from topics.sealing import Sealing

MINE, OTHER = (Sealing(KeyRing({name: bytes(32)}, name)) for name in ("mine", "other"))


@pytest.mark.parametrize(
    ("role", "topics"),
    [
        ("turns", (names.REQUESTS, names.FRAMES, names.TOOL_RESULTS, names.ERASURES)),
        ("models", (names.PROMPTS, names.CANCELS, names.ERASURES)),
        ("tools", (names.TOOL_CALLS, names.CANCELS, names.ERASURES)),
    ],
)
async def test_a_key_that_is_missing_is_found_on_every_topic_that_a_role_takes_in(
    broker: Broker, prefix: str, role: JournalRole, topics: tuple[Topic, ...]
) -> None:
    """Before partitions are taken from workers that have the key."""
    for number, topic in enumerate(topics):
        named = Names(f"{prefix}{number}.")
        await TopicAdmin(Connection(broker.bootstrap), named).create(1)
        assert await usable_partitions(Connection(broker.bootstrap, sealing=MINE), named, role) == 1
        async with Connection(broker.bootstrap, sealing=OTHER).producer() as producer:
            await producer.send_and_wait(named.topic(topic), b"{}", key=b"k", partition=0)
        with pytest.raises(SealedRecordError, match="the key other"):
            await usable_partitions(Connection(broker.bootstrap, sealing=MINE), named, role)
