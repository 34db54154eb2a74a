"""A runner: what it takes to make the calls of its partitions, each once, put together for any kind of calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from streams.journal.claims import Claim
from streams.journal.ledger import Ledger
from streams.journal.owner import JournalOwner, Logs
from streams.journal.partition import PartitionJournal
from streams.journal.replay import Replay
from streams.journal.writer import JournalWriter
from streams.runner.desk import CallDesk
from streams.runner.kind import CallKind, CallMaker, R
from streams.runner.loop import CallLoop, Ports
from streams.sources import Source
from streams.steps import in_steps
from topics import codec
from topics.ids import ThreadKey
from topics.records import CallRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """How many `partitions` there are, calls that may be open at once, and seconds that an ended one is remembered."""

    partitions: int
    max_calls: int
    keep_s: float


class Runner(Generic[R]):
    """Makes the calls of one kind in all partitions it owns."""

    def __init__(
        self,
        kind: CallKind[R],
        maker: CallMaker[R],
        ports: Ports,
        logs: Logs,
        settings: RunnerSettings,
        *,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        self._kind = kind
        self._maker = maker
        self._ports = ports
        self._settings = settings
        self.partitions: JournalOwner[CallLoop[R]] = JournalOwner(
            logs, Claim(ports.worker, settings.partitions), self._open, replays=replays, unique=unique
        )

    @property
    def full(self) -> bool:
        """Whether as many calls are open, or about to be, as may be: requests should wait, and nothing else."""
        coming = sum(loop.requests_waiting for loop in self.partitions.loops.values())
        return self._maker.open_calls + coming >= self._settings.max_calls

    async def deliver(self, source: Source) -> None:
        """Hand a source record to its partition's loop; one for a partition that is not owned comes again elsewhere."""
        loop = self.partitions.loops.get(source.partition)
        if loop is not None:
            await loop.deliver(source)

    async def deliver_all(self, sources: Sequence[Source]) -> None:
        """Hand source records to their partitions' loops, one by one."""
        for source in sources:
            await self.deliver(source)

    async def _open(self, partition: int, journal: JournalWriter, replay: Replay) -> CallLoop[R]:
        desk = CallDesk(self._kind, keep_s=self._settings.keep_s, traced=self._ports.tracer is not None)
        interrupted = await in_steps(desk.restore(replay.rows))
        held = PartitionJournal(journal, await in_steps(Ledger.of(replay.rows)))
        loop = CallLoop(partition, self._kind, desk, self._maker, held, self._ports)
        loop.start(interrupted)
        log.info("partition %d restored: %d calls were interrupted", partition, len(interrupted))
        return loop


class AnswerSender(Generic[R]):
    """Sends the answers of one kind of calls to where the turn worker looks for them."""

    def __init__(self, kind: CallKind[R], ports: Ports) -> None:
        self._topic = ports.names.topic(kind.answers)
        self._producer = ports.producer
        self._tracer = ports.tracer

    async def send(self, answer: CallRecord, partition: int) -> asyncio.Future[int]:
        """Send an answer; the future gives its offset once it is durable."""
        key = ThreadKey(answer.tenant, answer.thread_id).encode()
        if self._tracer is None:
            return await self._producer.send(self._topic, partition, key, codec.encode(answer))
        headers = self._tracer.headers(answer)
        return await self._producer.send(self._topic, partition, key, codec.encode(answer), headers)
