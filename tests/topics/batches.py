"""Record batches built by hand, also such as no client builds, and a way to send them."""

from __future__ import annotations

import asyncio
import gzip
import struct
from collections.abc import Callable, Mapping, Sequence

import cramjam
from aiokafka import TopicPartition
from aiokafka.client import AIOKafkaClient
from aiokafka.codec import lz4_encode
from aiokafka.errors import for_code
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.util import calc_crc32c

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
NOW = 1_700_000_000_000
CONTROL = 0x20


def varint(number: int) -> bytes:
    """Return a number as Kafka spells it."""
    rest = ((number << 1) ^ (number >> 63)) & (2**64 - 1)
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def sized(data: bytes | None, length: int | None = None) -> bytes:
    """Return bytes after their length, or after one that is claimed."""
    if data is None:
        return varint(-1)
    return varint(len(data) if length is None else length) + data


def record(
    number: int,
    value: bytes | None,
    key: bytes | None = b"key",
    headers: Sequence[tuple[bytes | None, bytes | None]] = (),
    *,
    time: int = 0,
    attributes: int = 0,
    length: int | None = None,
    value_length: int | None = None,
    header_count: int | None = None,
    tail: bytes = b"",
) -> bytes:
    """Return the record that claims to be `number` of its batch; lengths and counts that are given are claimed."""
    body = bytes([attributes]) + varint(time) + varint(number) + sized(key) + sized(value, value_length)
    body += varint(len(headers) if header_count is None else header_count)
    body += b"".join(sized(name) + sized(text) for name, text in headers) + tail
    return sized(body, length)


def batch(
    records: Sequence[bytes],
    *,
    codec: int = 0,
    attributes: int = 0,
    data: bytes | None = None,
    count: int | None = None,
    last: int | None = None,
    time: int = NOW,
    checksum: int | None = None,
    form: int = 2,
    offset: int = 0,
) -> bytes:
    """Return a batch of records; `data` stands in place of what they are packed to."""
    whole = b"".join(records)
    packed: Mapping[int, Callable[[], bytes]] = {
        0: lambda: whole,
        GZIP: lambda: gzip.compress(whole),
        SNAPPY: lambda: bytes(cramjam.snappy.compress_raw(whole)),
        LZ4: lambda: lz4_encode(whole),
        ZSTD: lambda: bytes(cramjam.zstd.compress(whole)),
    }
    content = packed[codec]() if data is None else data
    many = len(records)
    times = (time, time)
    producer = (-1, -1, -1)
    header = (
        attributes | codec,
        many - 1 if last is None else last,
        *times,
        *producer,
        many if count is None else count,
    )
    rest = struct.pack(">hiqqqhii", *header) + content
    guarded = struct.pack(">ibI", -1, form, calc_crc32c(rest) if checksum is None else checksum) + rest
    return struct.pack(">qi", offset, len(guarded)) + guarded


#: UnknownTopicOrPartition, LeaderNotAvailable and NotLeaderForPartition.
_NO_LEADER = frozenset({3, 5, 6})


async def send(bootstrap: str, topic: str, partition: int, raw: bytes) -> int:
    """Send a batch as it is, and return the offset of its first record.

    A topic that was just made may not have its leader yet: that is waited for.

    Raises:
        aiokafka.errors.KafkaError: the broker did not take it.
    """
    client = AIOKafkaClient(bootstrap_servers=bootstrap, request_timeout_ms=10_000)
    await client.bootstrap()
    try:
        async with asyncio.timeout(30):
            while True:
                await client.set_topics([topic])
                code, offset = await _sent(client, topic, partition, raw)
                if code not in _NO_LEADER:
                    break
                await asyncio.sleep(0.1)
                await client.force_metadata_update()
    finally:
        await client.close()
    if code:
        raise for_code(code)
    return offset


async def _sent(client: AIOKafkaClient, topic: str, partition: int, raw: bytes) -> tuple[int, int]:
    """Return the broker's error code, 0 for none, and the offset."""
    leader = client.cluster.leader_for_partition(TopicPartition(topic, partition))
    request = ProduceRequest(
        transactional_id=None, required_acks=-1, timeout=10_000, topics=[(topic, [(partition, raw)])]
    )
    answer = await client.send(leader, request)
    ((_, ((_, code, offset, *_),)),) = answer.topics
    return int(code), int(offset)
