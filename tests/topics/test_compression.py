"""Records that callers compress: they may use any of Kafka's codecs."""

from __future__ import annotations

import pytest
from aiokafka import AIOKafkaProducer

from tests.topics.pipeline import Pipeline
from topics.names import REQUESTS


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
async def test_a_batch_of_any_codec_can_be_read(pipeline: Pipeline, codec: str) -> None:
    """A worker that could not decompress it would stand still at it."""
    value = b"compresses well " * 1000
    producer = AIOKafkaProducer(
        bootstrap_servers=pipeline.connection.bootstrap_servers, compression_type=codec, linger_ms=50
    )
    async with producer:
        for _ in range(2):
            await producer.send_and_wait(pipeline.names.topic(REQUESTS), value, partition=0)
    assert [record.value for record in await pipeline.read(REQUESTS, 2)] == [value, value]
