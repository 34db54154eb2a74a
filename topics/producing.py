"""Producers of turngate's: they send records together, and seal what they send."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Any, NoReturn

from aiokafka import AIOKafkaProducer

from topics.sealing import Sealing
from topics.trace_context import Headers


class BatchingProducer(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka has no types
    """aiokafka's, which also sends records together."""

    async def send_all(
        self, topic: str, partition: int, records: Iterable[tuple[bytes | None, bytes | None, Headers]]
    ) -> list[tuple[Awaitable[Any], int]]:
        """Hand keys, values and headers over in as few batches as they fit into, in order.

        Return of each batch what gives the metadata of its first record once the broker has acknowledged the batch, and
        how many records it has. What aiokafka does for each record that is sent alone, it does here for each batch.
        """
        sent: list[tuple[Awaitable[Any], int]] = []
        batch = self.create_batch()
        for key, plain, headers in records:
            value = self._as_written(topic, key, plain)
            listed = list(headers)  # nothing else will do
            if batch.append(timestamp=None, key=key, value=value, headers=listed) is None:
                sent.append(await self._hand_over(batch, topic, partition))
                batch = self.create_batch()
                batch.append(timestamp=None, key=key, value=value, headers=listed)
        if batch.record_count():
            sent.append(await self._hand_over(batch, topic, partition))
        return sent

    async def _hand_over(self, batch: Any, topic: str, partition: int) -> tuple[Awaitable[Any], int]:
        count = batch.record_count()
        batch.close()  # or a record that is sent alone might join it
        return await AIOKafkaProducer.send_batch(self, batch, topic, partition=partition), count

    def _as_written(self, topic: str, key: bytes | None, value: bytes | None) -> bytes | None:  # noqa: ARG002 - see below
        """Return the value as it is to be written."""
        return value


class SealingProducer(BatchingProducer):
    """The same, which asks `sealing` about every value that is sent: there is no way around it."""

    def __init__(self, *, sealing: Sealing, **options: Any) -> None:
        super().__init__(**options)
        self._sealing = sealing

    async def send(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Any = None,
    ) -> Any:
        """Send a record as aiokafka does, its value sealed where the topic asks for that; `send_and_wait` comes here."""
        return await super().send(topic, self._as_written(topic, key, value), key, partition, timestamp_ms, headers)

    def _as_written(self, topic: str, key: bytes | None, value: bytes | None) -> bytes | None:
        return self._sealing.seal(topic, key, value)

    async def send_batch(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: a batch that was made elsewhere would go out as it is.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("send records with send_all: batches that were made elsewhere are not sealed")


def producer_of(sealing: Sealing, **options: Any) -> BatchingProducer:
    """Return a producer for turngate's topics, one that seals where anything is sealed; `options` are aiokafka's."""
    return SealingProducer(sealing=sealing, **options) if sealing.seals else BatchingProducer(**options)
