"""Owning journal partitions: claim, read, work, lose, in step with the group's rebalances."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, Protocol, TypeVar

from streams.journal.claims import Claim
from streams.journal.errors import SupersededError
from streams.journal.replay import Replay
from streams.journal.writer import JournalLog, JournalWriter

log = logging.getLogger(__name__)


class Logs(Protocol):
    """Gives the journal's log of a partition; `topic` is the journal's name."""

    topic: str

    def partition(self, partition: int) -> JournalLog:
        """Return the log of one partition."""


class Loop(Protocol):
    """Work on one partition."""

    async def stop(self) -> None:
        """Stop at once: no acknowledgement, append or publication may follow."""


L = TypeVar("L", bound=Loop)

#: Begins work on a partition, from what its journal holds.
Open = Callable[[int, JournalWriter, Replay], Awaitable[L]]


class JournalOwner(Generic[L]):
    """Owns journal partitions, each with a loop that works on it (`streams.faust_shell.recovery.Owner`).

    `replays` gives what recovery has read of the claimed partitions; `unique` a text that was never given before.
    """

    def __init__(
        self,
        logs: Logs,
        claim: Claim,
        open_: Open[L],
        *,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        self._logs = logs
        self._claim = claim
        self._open = open_
        self._replays = replays
        self._unique = unique
        self._journals: dict[int, JournalWriter] = {}
        self._void = 0
        self.loops: dict[int, L] = {}

    @property
    def void(self) -> int:
        """How many journal records of superseded workers were found so far."""
        return self._void + sum(journal.void for journal in self._journals.values())

    async def lose(self) -> None:
        """Stop all work."""
        self._void = self.void
        loops, self.loops, self._journals = self.loops, {}, {}
        for loop in loops.values():
            await loop.stop()

    async def claim(self, partitions: set[int]) -> None:
        """Claim journal partitions: from here on whoever owned them before is superseded."""
        for partition in sorted(partitions):
            self._journals[partition] = await JournalWriter.claim(
                self._logs.partition(partition), self._claim, unique=self._unique(), place=self._place(partition)
            )
        log.info("claimed %s partitions %s", self._logs.topic, sorted(partitions))

    async def restore(self) -> None:
        """Begin to work on every claimed partition; stop where a rebalance takes them away meanwhile.

        Raises:
            JournalStop: the journal belongs to a pipeline of another shape, or another worker has claimed a partition.
        """
        claimed = self._journals
        try:
            await self._restore(claimed)
        except SupersededError:
            if self._journals is claimed:
                raise
            # By this worker itself, perhaps, when it was assigned the partition once more.
            log.info("%s: partitions changed hands while they were restored", self._logs.topic)

    async def _restore(self, claimed: Mapping[int, JournalWriter]) -> None:
        # Of each partition's rows nothing is kept once its work has begun: there can be as much again of the next one's.
        replays = dict(self._replays())
        for partition, journal in sorted(claimed.items()):
            replay = replays.pop(partition)
            for value in replay.claim_values:
                Claim.decode(value).expect(self._claim.partitions, self._logs.topic)
            self._void += len(replay.void)
            await journal.append((), replay.litter(journal.own_claim))
            if self._journals is not claimed:
                return
            loop = await self._open(partition, journal, replay)
            if self._journals is not claimed:
                await loop.stop()
                return
            self.loops[partition] = loop

    def _place(self, partition: int) -> str:
        return f"{self._logs.topic}[{partition}]"
