"""All partitions a turn worker owns: claims them, restores their turns, and hands records to the right one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from streams.chains import ChainRunner
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.journal.claims import Claim
from streams.journal.ledger import Ledger
from streams.journal.replay import Replay, Rows
from streams.journal.writer import JournalLog, JournalWriter
from streams.turns.chores import Chores
from streams.turns.desk import Desk, DeskSettings
from streams.turns.inputs import Source
from streams.turns.loop import PartitionLoop, Ports
from topics.ids import TurnKey

log = logging.getLogger(__name__)


class Logs(Protocol):
    """Gives the journal's log of a partition."""

    topic: str

    def partition(self, partition: int) -> JournalLog:
        """Return the log of one partition."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a turn worker is told beside its policy. `max_chores` bounds the chain runs under way per partition."""

    desk: DeskSettings
    max_open_turns: int = 10_000
    max_chores: int = 64


class TurnWorker:
    """The owner of journal partitions (`streams.faust_shell.recovery.Owner`).

    `replays` gives what recovery has read of the claimed partitions; `unique` a text that was never given before.
    """

    def __init__(
        self,
        policy: Policy,
        settings: WorkerSettings,
        chains: ChainRunner,
        logs: Logs,
        ports: Ports,
        *,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        self._policy = policy
        self._settings = settings
        self._chains = chains
        self._logs = logs
        self._ports = ports
        self._replays = replays
        self._unique = unique
        self._journals: dict[int, JournalWriter] = {}
        self.loops: dict[int, PartitionLoop] = {}
        self._all_chores: list[Chores] = []

    @property
    def full(self) -> bool:
        """Whether as many turns are open as may be: requests should wait, and nothing else."""
        return sum(len(loop.desk.turns) for loop in self.loops.values()) >= self._settings.max_open_turns

    async def deliver(self, source: Source) -> None:
        """Hand a source record to its partition's loop; one for a partition that is not owned comes again elsewhere."""
        loop = self.loops.get(source.partition)
        if loop is not None:
            await loop.deliver(source)

    async def lose(self) -> None:
        """Stop all partitions."""
        loops, self.loops = self.loops, {}
        for loop in loops.values():
            await loop.stop()
        chores, self._all_chores = self._all_chores, []
        for one in chores:
            await one.stop()
        self._journals = {}

    async def claim(self, partitions: set[int]) -> None:
        """Claim journal partitions: from here on whoever owned them before is superseded."""
        claim = Claim(self._ports.worker, self._settings.desk.partitions)
        for partition in sorted(partitions):
            self._journals[partition] = await JournalWriter.claim(
                self._logs.partition(partition),
                claim,
                unique=self._unique(),
                place=f"{self._logs.topic}[{partition}]",
            )
        log.info("claimed journal partitions %s", sorted(partitions))

    async def restore(self) -> None:
        """Rebuild every claimed partition's turns and begin to work on them.

        Raises:
            JournalStop: the journal belongs to a pipeline of another shape.
            JournalError: the journal cannot be understood.
        """
        replays = self._replays()
        for partition, journal in sorted(self._journals.items()):
            await self._open(partition, journal, replays[partition])

    async def _open(self, partition: int, journal: JournalWriter, replay: Replay) -> None:
        for value in replay.claim_values:
            Claim.decode(value).expect(self._settings.desk.partitions, self._logs.topic)
        desk = Desk(partition, self._policy, self._settings.desk)
        owed = desk.restore({TurnKey.parse(subject): _records(rows) for subject, rows in replay.rows.items()})
        await journal.clear(replay.litter(journal.own_claim))
        loop: PartitionLoop
        chores = Chores(
            self._chains,
            lambda key, event: loop.tell(key, event),  # noqa: PLW0108 - the loop is made of the chores
            self._ports.fatal,
            limit=self._settings.max_chores,
        )
        loop = PartitionLoop(desk, journal, Ledger(replay.rows), journal.epoch, chores, self._ports)
        self._all_chores.append(chores)
        self.loops[partition] = loop
        loop.start(owed)
        log.info(
            "partition %d restored: %d open turns, %d closed, %d records owed",
            partition,
            len(desk.turns),
            len(desk.done),
            len(owed.outgoing),
        )


def _records(rows: Rows) -> list[JournalRecord]:
    return [JournalRecord.decode(n, value) for n, (_, value) in sorted(rows.items())]
