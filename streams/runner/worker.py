"""The model runner: what it takes to make the model calls of a partition, put together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from streams.journal.claims import Claim
from streams.journal.owner import JournalOwner, Logs
from streams.journal.partition import PartitionJournal
from streams.journal.replay import Replay
from streams.journal.writer import JournalWriter
from streams.models.call import AdapterFor
from streams.models.calls import CallPool
from streams.runner.desk import CallDesk
from streams.runner.loop import CallLoop, Ports
from streams.sources import Source
from topics import codec, names
from topics.ids import ThreadKey
from topics.records import ModelFrame

log = logging.getLogger(__name__)


class ModelRunner:
    """Makes the model calls of all partitions it owns, at most `max_calls` at once."""

    def __init__(
        self,
        adapter_for: AdapterFor,
        ports: Ports,
        logs: Logs,
        *,
        partitions: int,
        max_calls: int,
        keep_s: float,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        self._ports = ports
        self._max_calls = max_calls
        self._keep_s = keep_s
        self._pool = CallPool(adapter_for, self._send, on_fatal=ports.fatal, now=ports.clock, max_calls=max_calls)
        self.partitions: JournalOwner[CallLoop] = JournalOwner(
            logs, Claim(ports.worker, partitions), self._open, replays=replays, unique=unique
        )

    @property
    def full(self) -> bool:
        """Whether as many calls are open as may be: prompts should wait, and nothing else."""
        return self._pool.open_calls >= self._max_calls

    async def deliver(self, source: Source) -> None:
        """Hand a source record to its partition's loop; one for a partition that is not owned comes again elsewhere."""
        loop = self.partitions.loops.get(source.partition)
        if loop is not None:
            await loop.deliver(source)

    async def _open(self, partition: int, journal: JournalWriter, replay: Replay) -> CallLoop:
        desk = CallDesk(keep_s=self._keep_s)
        interrupted = desk.restore(replay.rows)
        loop = CallLoop(partition, desk, self._pool, PartitionJournal(journal, replay.rows), self._ports)
        loop.start(interrupted)
        log.info("partition %d restored: %d calls were interrupted", partition, len(interrupted))
        return loop

    async def _send(self, frame: ModelFrame, partition: int) -> asyncio.Future[int]:
        key = ThreadKey(frame.tenant, frame.thread_id).encode()
        topic = self._ports.names.topic(names.FRAMES)
        return await self._ports.producer.send(topic, partition, key, codec.encode(frame))
