"""Which keys the records that are kept are sealed with: what may be taken out of a ring, and what is missing from it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from topics import envelope
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.key_ring import KeyRing
from topics.names import TOPICS, JournalRole, Names
from topics.sealing import AsStored, is_claim
from topics.snapshots import to_the_end

_POLL_MS = 200
#: How long the last records are waited for, in seconds.
_LOOK_S = 2.0


@dataclass(frozen=True, slots=True)
class TopicUse:
    """How the records of one topic are kept, tombstones and claims left out.

    `sealed` counts them by the id of their key; `foreign` those of them whose key has that id and is not the ring's;
    `plain` is how many are not sealed. `until` is when the last one with each key was written, in epoch seconds.
    """

    topic: str
    sealed: Mapping[str, int] = field(default_factory=dict)
    foreign: Mapping[str, int] = field(default_factory=dict)
    plain: int = 0
    until: Mapping[str, float] = field(default_factory=dict)


def sensitive_topics(names: Names) -> tuple[str, ...]:
    """Return the full names of all topics whose values are sealed where there are keys."""
    return (
        *(names.topic(topic) for topic in TOPICS if topic.sensitive),
        *(names.journal(role) for role in get_args(JournalRole)),
    )


async def key_use(connection: Connection, names: Names, ring: KeyRing | None) -> AsyncIterator[TopicUse]:
    """Yield what each topic's records are sealed with; every record that is kept is read, and none is opened.

    Raises:
        BrokerUnreachableError: nobody answers, or this client may not read one of the topics.
    """
    raw = replace(connection, sealing=AsStored())
    there = await TopicAdmin(raw, names).describe()
    for topic in sensitive_topics(names):
        if topic in there:
            try:
                yield await _use_of(raw, topic, there[topic].partitions, ring)
            except KafkaError as error:
                raise raw.unreachable(type(error).__name__) from error


async def require_keys(connection: Connection, topics: Sequence[str], partitions: int) -> None:
    """Open the last record of each partition of `topics`: whoever lacks the key need not begin to work.

    Only where there are keys, and a first look: a record that is further back may want yet another key.

    Raises:
        SealedRecordError: one is sealed with a key that is not here.
        BrokerUnreachableError: nobody answers, or this client may not read one of the topics.
    """
    if connection.sealing.ring is None:
        return
    places = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]
    try:
        async with connection.consumer() as consumer:
            starts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
            waiting = {place for place in places if ends[place] > starts[place]}
            consumer.assign(waiting)
            for place in waiting:
                consumer.seek(place, ends[place] - 1)
            deadline = asyncio.get_running_loop().time() + _LOOK_S
            # The last offset may hold a mark of a transaction, or what compaction has taken away: then nothing comes.
            while waiting and asyncio.get_running_loop().time() < deadline:
                waiting -= set(await consumer.getmany(timeout_ms=_POLL_MS))
    except KafkaError as error:
        raise connection.unreachable(type(error).__name__) from error


async def _use_of(raw: Connection, topic: str, partitions: int, ring: KeyRing | None) -> TopicUse:
    sealed: Counter[str] = Counter()
    foreign: Counter[str] = Counter()
    until: dict[str, float] = {}
    plain = 0
    async with raw.consumer() as consumer:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        async for record in to_the_end(raw, consumer, places):
            if record.value is None or is_claim(topic, record.key):
                continue
            found = envelope.parse(record.value)
            if found is None:
                plain += 1
                continue
            sealed[found.key_id] += 1
            until[found.key_id] = max(until.get(found.key_id, 0.0), record.timestamp / 1000)
            held = ring.keys.get(found.key_id) if ring is not None else None
            if held is not None and held.check != found.check:
                foreign[found.key_id] += 1
    return TopicUse(topic, dict(sealed), dict(foreign), plain, until)
