"""Records that are sent together arrive as they were sent, in order and one after the other, sealed or not."""

from __future__ import annotations

import pytest

from tests.topics.places import Place
from tests.topics.test_sealing_clients import BOTH
from topics.sealing import AsStored, Sealing
from topics.trace_context import Headers


@pytest.mark.parametrize("sealing", [Sealing(), Sealing(BOTH)], ids=["plain", "sealed"])
async def test_records_that_are_sent_together_arrive_in_order(frames: Place, sealing: Sealing) -> None:
    """Each batch says where its first record is; the others follow it."""
    records: list[tuple[bytes, bytes | None, Headers]] = [
        (b"k%d" % number, b"v%d" % number * 20, (("h", b"%d" % number),)) for number in range(50)
    ]
    records[7] = (b"k7", None, ())
    async with frames.connection(sealing).producer(max_batch_size=1_024) as producer:
        await producer.send_and_wait(frames.topic, b"alone", key=b"k", partition=0)
        offsets: list[int] = []
        for metadata, count in await producer.send_all(frames.topic, 0, records):
            first = (await metadata).offset
            offsets += range(first, first + count)
    assert offsets == list(range(1, 51))
    found = (await frames.read(sealing, 51))[1:]
    assert [(one.key, one.value, one.headers) for one in found] == records
    kept = (await frames.read(AsStored(), 51))[1:]
    assert ([one.value for one in kept] == [value for _, value, _ in records]) != sealing.seals


async def test_a_record_that_is_larger_than_a_batch_has_one_of_its_own(frames: Place) -> None:
    """As it would if it were sent alone."""
    records = [(b"a", b"small", ()), (b"b", b"x" * 50_000, ()), (b"c", b"small", ())]
    async with frames.connection(Sealing()).producer(max_batch_size=1_024) as producer:
        sent = await producer.send_all(frames.topic, 0, records)
        assert [count for _, count in sent] == [1, 1, 1]
        assert [(await metadata).offset for metadata, _ in sent] == [0, 1, 2]
    assert [len(one.value or b"") for one in await frames.read(Sealing(), 3)] == [5, 50_000, 5]


async def test_nothing_to_send_is_no_batch(frames: Place) -> None:
    """And waits for nobody."""
    async with frames.connection(Sealing()).producer() as producer:
        assert await producer.send_all(frames.topic, 0, []) == []
