"""A producer that seals what it sends."""

from __future__ import annotations

from typing import Any, NoReturn

from aiokafka import AIOKafkaProducer

from topics.sealing import Sealing


class SealingProducer(AIOKafkaProducer):  # type: ignore[misc]  # aiokafka has no types
    """aiokafka's, which asks `sealing` about every value that is sent: there is no way around it."""

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
        return await super().send(topic, self._sealing.seal(topic, key, value), key, partition, timestamp_ms, headers)

    async def send_batch(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: a batch that was made elsewhere would go out as it is.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError("send records one by one: batches are not sealed")


def producer_of(sealing: Sealing, **options: Any) -> AIOKafkaProducer:
    """Return a producer for turngate's topics, aiokafka's own where nothing is sealed; `options` are aiokafka's."""
    return SealingProducer(sealing=sealing, **options) if sealing.seals else AIOKafkaProducer(**options)
