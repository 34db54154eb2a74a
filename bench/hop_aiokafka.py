"""What turngate is measured against: aiokafka alone, which reads records, counts them per key and writes them on."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer


async def main() -> None:
    """Run until killed. Arguments: the broker's address, the source topic, the sink topic."""
    broker, source, sink = sys.argv[1:4]
    counts: dict[bytes, int] = {}
    # Nobody waits longer than turngate's own worker does.
    consumer = AIOKafkaConsumer(
        source,
        bootstrap_servers=broker,
        group_id=f"{source}-hop",
        auto_offset_reset="earliest",
        fetch_max_wait_ms=20,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
    )
    producer = AIOKafkaProducer(bootstrap_servers=broker, acks="all")
    await consumer.start()
    await producer.start()
    while True:
        for records in (await consumer.getmany(timeout_ms=200, max_records=5_000)).values():
            for record in records:
                frame: dict[str, Any] = orjson.loads(record.value)
                counts[record.key] = counts.get(record.key, 0) + len(frame["text"])
                await producer.send(sink, orjson.dumps(frame), key=record.key, partition=record.partition)


if __name__ == "__main__":
    asyncio.run(main())
