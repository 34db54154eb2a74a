"""Faust's Kafka clients, changed in how long a fetch waits, what is fetched, what is committed, and what a retry is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faust.transport.consumer import RecordMap
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

#: How long the broker may hold a fetch while it has nothing, in milliseconds. Faust hard-codes 1,500, and a broker that
#: does not wake on data makes every quiet partition pay it.
FETCH_WAIT_MS = 20


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Faust's consumer thread with a short fetch wait."""

    def _create_worker_consumer(self, transport: driver.Transport) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS  # noqa: SLF001 - no setting reaches it
        return consumer


class Consumer(driver.Consumer):
    """Faust's consumer for agents that acknowledge each partition's records strictly in offset order."""

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> RecordMap:  # noqa: ASYNC109 - Faust's
        # Faust hands its live set to another thread. If a rebalance empties it meanwhile, aiokafka takes the empty set for
        # "all partitions" and returns records that Faust then drops (faust-streaming#596).
        if active_partitions is None:
            return await super()._getmany(None, timeout)
        snapshot = set(active_partitions)
        if not snapshot:
            await asyncio.sleep(0)
            return {}
        return await super()._getmany(snapshot, timeout)

    def _new_offset(self, tp: TP) -> int | None:
        # In-order acknowledgement makes the last acknowledged record the answer. Faust's own search for consecutive
        # offsets can pass over an unacknowledged head (faust-streaming#606), and stalls at gaps the log itself has.
        acked = self._acked[tp]
        if not acked:
            return None
        last = max(acked)
        # Kept until a later one takes its place: a commit that fails is tried again, also where nothing more arrives.
        acked[:] = [last]
        self._acked_index[tp] = {last}
        self._gap[tp].clear()
        return last + 1


class Producer(driver.Producer):
    """Faust's producer, idempotent where the broker can do that: Faust itself knows only all of exactly-once or none."""

    #: Whether retries are to be recognised by the broker.
    idempotent = False

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": self.idempotent}


class IdempotentProducer(Producer):
    """The same, idempotent."""

    idempotent = True


class Transport(driver.Transport):
    """Faust's aiokafka transport with the consumer and a producer above."""

    Consumer = Consumer
    Producer = Producer


class IdempotentTransport(Transport):
    """The same for brokers that take idempotent producers."""

    Producer = IdempotentProducer
