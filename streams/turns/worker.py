"""The turn worker: what it takes to work on the turns of a partition, put together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams.chains import ChainRunner
from streams.gate.policy import Policy
from streams.gate.records import JournalError, JournalRecord
from streams.gate.scan import Scanner
from streams.journal.claims import Claim
from streams.journal.owner import JournalOwner, Logs
from streams.journal.partition import PartitionJournal
from streams.journal.replay import Replay, Rows
from streams.journal.writer import JournalWriter
from streams.sources import Source
from streams.turns.chores import Chores
from streams.turns.desk import Desk, DeskSettings
from streams.turns.loop import PartitionLoop, Ports
from streams.turns.meter import UsageMeter
from streams.turns.threads import is_thread
from topics.ids import TurnKey

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a turn worker is told beside its policy. `max_chores` bounds the chain runs under way per partition."""

    desk: DeskSettings
    max_open_turns: int = 10_000
    max_chores: int = 64


class TurnWorker:
    """Works on the turns of all partitions it owns."""

    def __init__(
        self,
        policy: Policy,
        settings: WorkerSettings,
        chains: ChainRunner,
        ports: Ports,
        logs: Logs,
        *,
        open_scanner: Callable[[], Scanner] | None = None,
        meter: UsageMeter | None = None,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        self._policy = policy
        self._settings = settings
        self._chains = chains
        self._ports = ports
        self._open_scanner = open_scanner
        self._meter = meter
        claim = Claim(ports.worker, settings.desk.partitions)
        self.partitions: JournalOwner[PartitionLoop] = JournalOwner(
            logs, claim, self._open, replays=replays, unique=unique
        )

    @property
    def full(self) -> bool:
        """Whether as many turns are open, or about to be, as may be: requests should wait, and nothing else."""
        count = sum(len(loop.desk.turns) + loop.requests_waiting for loop in self.partitions.loops.values())
        return count >= self._settings.max_open_turns

    async def deliver(self, source: Source) -> None:
        """Hand a source record to its partition's loop; one for a partition that is not owned comes again elsewhere."""
        loop = self.partitions.loops.get(source.partition)
        if loop is not None:
            await loop.deliver(source)

    async def _open(self, partition: int, journal: JournalWriter, replay: Replay) -> PartitionLoop:
        desk = Desk(partition, self._policy, self._settings.desk, self._open_scanner, self._meter)
        try:
            turns = {subject: rows for subject, rows in replay.rows.items() if not is_thread(subject)}
            threads = {subject: rows for subject, rows in replay.rows.items() if is_thread(subject)}
            owed = desk.restore(_Turns(turns), threads)
        except (JournalError, ValueError) as exc:
            reason = exc if isinstance(exc, JournalError) else "a row belongs to no turn"
            raise JournalError(f"the turns' journal, partition {partition}: {reason}") from None
        chores = Chores(self._chains, self._ports.fatal, limit=self._settings.max_chores)
        loop = PartitionLoop(desk, PartitionJournal(journal, replay.rows), chores, self._ports)
        loop.start(owed)
        log.info(
            "partition %d restored: %d open turns, %d closed, %d records owed",
            partition,
            len(desk.turns),
            len(desk.done),
            len(owed.outgoing),
        )
        return loop


class _Turns(Mapping[TurnKey, Sequence[JournalRecord]]):
    """Each turn's records, decoded when they are asked for: those of thousands at once would take much memory."""

    def __init__(self, rows: Mapping[str, Rows]) -> None:
        self._rows = rows

    def __getitem__(self, turn: TurnKey) -> Sequence[JournalRecord]:
        return [JournalRecord.decode(n, value) for n, (_, value) in sorted(self._rows[str(turn)].items())]

    def __iter__(self) -> Iterator[TurnKey]:
        return map(TurnKey.parse, self._rows)

    def __len__(self) -> int:
        return len(self._rows)
