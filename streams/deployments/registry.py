"""The deployments as operators see and change them: read to the end, changed record by record, each change audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka import TopicPartition

from processors.board import Board, key_of
from processors.factories import digest_with
from streams.deployments.reporter import LIVE_S
from streams.ports import Clock
from topics import codec, names
from topics.connection import Connection
from topics.errors import WireError
from topics.names import Names, Topic
from topics.records import AuditRecord, DeploymentRecord, ProcessorVersion, WorkerStatus
from topics.snapshots import to_the_end


@dataclass(frozen=True, slots=True)
class Seen:
    """The board as it is, and the workers of all roles that are alive."""

    board: Board
    workers: tuple[WorkerStatus, ...]

    @property
    def turn_workers(self) -> tuple[WorkerStatus, ...]:
        """Those who run processors."""
        return tuple(one for one in self.workers if one.role == "turns")

    def converged(self, worker: WorkerStatus) -> bool:
        """Tell whether a worker runs what is deployed, and the same as the others; who runs no processors always does."""
        if worker.role != "turns":
            return True
        chains = {one.chain for one in self.turn_workers}
        return worker.refused is None and worker.offset >= self.board.offset and len(chains) == 1


class Registry:
    """The deployments of one pipeline."""

    def __init__(self, connection: Connection, topic_names: Names, clock: Clock) -> None:
        self._connection = connection
        self._names = topic_names
        self._clock = clock

    async def read(self) -> Seen:
        """Return what is deployed now, and which workers are alive.

        Raises:
            BrokerUnreachableError: nobody answers.
            WireError: a record there cannot be read here.
        """
        board = Board()
        for key, value, offset in await self._all(names.DEPLOYMENTS):
            board = board.after(key, None if value is None else codec.decode(value, names.DEPLOYMENT), offset)
        said: dict[str, WorkerStatus] = {}
        for key, value, _ in await self._all(names.WORKERS):
            said.pop(key, None)
            if value is not None:
                try:
                    said[key] = codec.decode(value, names.WORKERS.shape)
                except WireError:
                    continue  # of another version: it will be seen as gone, which is what it is to us
        since = self._clock() - LIVE_S
        live = sorted((one for one in said.values() if one.seen_at >= since), key=lambda one: one.worker)
        return Seen(board, tuple(live))

    async def write(self, action: str, record: DeploymentRecord) -> None:
        """Write a record of who did what, then what was done.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        told = record.model_dump(mode="json", exclude_none=True)
        audit = AuditRecord(action=action, key=key_of(record), record=told, by=record.by, at=record.at)
        await self._write(audit, key_of(record), codec.encode(record))

    async def delete(self, action: str, key: str, by: str) -> None:
        """Take back what is under `key`, after a record of who did so.

        Raises:
            BrokerUnreachableError: nobody answers.
        """
        await self._write(AuditRecord(action=action, key=key, by=by, at=round(self._clock(), 3)), key, None)

    async def _write(self, audit: AuditRecord, key: str, value: bytes | None) -> None:
        async with self._connection.producer() as producer:
            # In this order, and each by itself: what is done is told even if this process ends in between.
            for topic, data in ((names.AUDIT, codec.encode(audit)), (names.DEPLOYMENTS, value)):
                await producer.send_and_wait(self._names.topic(topic), data, key=key.encode(), partition=0)

    async def _all(self, topic: Topic) -> Sequence[tuple[str, bytes | None, int]]:
        place = TopicPartition(self._names.topic(topic), 0)
        async with self._connection.consumer() as consumer:
            return [
                ((one.key or b"").decode(errors="replace"), one.value, one.offset)
                async for one in to_the_end(self._connection, consumer, [place])
            ]


def has_code(worker: WorkerStatus, version: ProcessorVersion) -> bool:
    """Tell whether a worker has the code of a version, and not some other of the same name."""
    ref = f"{version.processor}@{version.code}#"
    digests = [one.removeprefix(ref) for one in worker.available if one.startswith(ref)]
    return any(digest_with(digest, version.config) == version.digest for digest in digests)
