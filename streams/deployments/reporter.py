"""A worker's word on what it runs, on the topic `workers`: every few seconds, and at once when there is news."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from streams.deployments.deployer import Running
from streams.ports import Clock
from topics import codec, names
from topics.connection import Connection
from topics.names import JournalRole, Names
from topics.records import WorkerStatus

log = logging.getLogger(__name__)

#: How often a worker says that it is there, in seconds; one that has not for `LIVE_S` is taken for gone.
REPORT_S = 3.0
LIVE_S = 15.0


class Reporter:
    """Reports for one worker of a `role`."""

    def __init__(
        self, connection: Connection, topic_names: Names, worker: str, role: JournalRole, clock: Clock
    ) -> None:
        self._connection = connection
        self._topic = topic_names.topic(names.WORKERS)
        self._worker = worker
        self._role = role
        self._clock = clock
        self._started_at = clock()
        self._running: Running | None = None
        self._news = asyncio.Event()

    def changed(self, running: Running) -> None:
        """Have this reported, soon and from now on."""
        self._running = running
        self._news.set()

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """Report while the block runs, and take the report back at its end.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        async with self._connection.producer() as producer:
            task = asyncio.create_task(self._report(producer), name="report")
            try:
                yield
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                with contextlib.suppress(KafkaError, TimeoutError):
                    async with asyncio.timeout(2.0):
                        await producer.send_and_wait(self._topic, None, key=self._worker.encode(), partition=0)

    async def _report(self, producer: AIOKafkaProducer) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REPORT_S):
                    await self._news.wait()
            self._news.clear()
            if self._running is None:
                continue
            try:
                value = codec.encode(self._status(self._running))
                await producer.send_and_wait(self._topic, value, key=self._worker.encode(), partition=0)
            except KafkaError as error:
                # Turns go on without it; whoever deploys is told that this worker is gone, and will look.
                log.warning("could not report on workers: %s", type(error).__name__)

    def _status(self, running: Running) -> WorkerStatus:
        return WorkerStatus(
            worker=self._worker,
            role=self._role,
            started_at=round(self._started_at, 3),
            seen_at=round(self._clock(), 3),
            active=running.active,
            available=running.available,
            chain=running.chain,
            offset=running.offset,
            refused=running.refused,
        )
