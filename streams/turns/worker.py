"""The turn worker: what it takes to work on the turns of a partition, put together."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams.gate.entries import Started
from streams.gate.records import JournalError, JournalRecord
from streams.journal.claims import Claim
from streams.journal.ledger import Ledger
from streams.journal.owner import JournalOwner, Logs
from streams.journal.partition import PartitionJournal
from streams.journal.replay import Replay, Rows
from streams.journal.writer import JournalWriter
from streams.sources import Source
from streams.steps import in_steps
from streams.turns.chain_table import ChainTable
from streams.turns.chores import Chores, Judged
from streams.turns.desk import Desk
from streams.turns.desk_settings import DeskSettings
from streams.turns.erasures import is_erasure
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


async def _nothing(_pinned: Sequence[Started]) -> None:
    """Leave turns whose chains are gone to those that are here."""


class TurnWorker:
    """Works on the turns of all partitions it owns.

    `revive` is given what turns from the journal have pinned and `chains` does not have; what it can, it adds there.
    """

    def __init__(
        self,
        chains: ChainTable,
        settings: WorkerSettings,
        ports: Ports,
        logs: Logs,
        *,
        revive: Callable[[Sequence[Started]], Awaitable[None]] = _nothing,
        judged: Judged | None = None,
        meter: UsageMeter | None = None,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._chains = chains
        self._revive = revive
        self._judged = judged
        self._ports = ports
        self._meter = meter
        claim = Claim(ports.worker, settings.desk.partitions)
        self.partitions: JournalOwner[PartitionLoop] = JournalOwner(
            logs, claim, self._open, replays=replays, unique=unique
        )

    @property
    def pinned(self) -> set[str]:
        """The ids of the chains that open turns have pinned."""
        loops = self.partitions.loops.values()
        return {turn.started.pin for loop in loops for turn in loop.desk.turns.values() if turn.begun}

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

    async def deliver_all(self, sources: Sequence[Source]) -> None:
        """Hand source records of one topic and partition to its loop, as `deliver` does."""
        loop = self.partitions.loops.get(sources[0].partition) if sources else None
        if loop is not None:
            await loop.deliver_all(sources)

    async def _open(self, partition: int, journal: JournalWriter, replay: Replay) -> PartitionLoop:
        desk = Desk(partition, self._chains, self._settings.desk, meter=self._meter)
        try:
            threads = {subject: rows for subject, rows in replay.rows.items() if is_thread(subject)}
            erasures = {subject: rows for subject, rows in replay.rows.items() if is_erasure(subject)}
            others = threads.keys() | erasures.keys()
            turns = {subject: rows for subject, rows in replay.rows.items() if subject not in others}
            owed = await in_steps(desk.restore(_Turns(turns), threads, erasures))
        except (JournalError, ValueError) as exc:
            reason = exc if isinstance(exc, JournalError) else "a row belongs to no turn"
            raise JournalError(f"the turns' journal, partition {partition}: {reason}") from None
        await self._revive([turn.started for turn in desk.turns.values() if self._chains.lacks(turn)])
        chores = Chores(self._chains.of, self._ports.fatal, limit=self._settings.max_chores, judged=self._judged)
        held = PartitionJournal(journal, await in_steps(Ledger.of(replay.rows)))
        loop = PartitionLoop(desk, held, chores, self._ports)
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
