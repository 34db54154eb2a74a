"""Rebalances: partitions are claimed before their journal is read, and records flow only once their turns are restored.

Order at a rebalance, ours in capitals: Faust stops the flow and waits until what was delivered is acknowledged · LOSE the
partitions · CLAIM the new ones, each with one journal record · Faust reads the journal to its end · RESTORE the turns from
it, and begin to publish what they owe · seek to the committed offsets · RESUME, in an order that drops nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, cast

from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.types import TP

from streams.faust_shell.journal_table import JournalTable


class Owner(Protocol):
    """Who works on the partitions: told of each change, one call at a time."""

    async def lose(self) -> None:
        """Stop all work: no acknowledgement, append or publication may follow."""

    async def claim(self, partitions: set[int]) -> None:
        """Claim these journal partitions; from now on older owners are superseded."""

    async def restore(self) -> None:
        """Take up work on the claimed partitions: their journal has been read to its end."""


class JournalRecovery(Recovery):
    """Faust's recovery with another end: the owner restores before anything flows, and nothing is fetched too early."""

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Restore the turns, then let source records flow."""
        app, consumer = self.app, self.app.consumer
        await app.on_rebalance_complete.send()
        self._set_recovery_ended()
        if app.consumer_generation_id != generation_id:
            return
        tables = cast("JournalTables", self.tables)
        try:
            await tables.owner.restore()
        except Exception as exc:  # noqa: BLE001 - Faust would log it and let records flow to turns that are not there
            tables.fatal(exc)
            return
        assignment = consumer.assignment()
        if app.consumer_generation_id != generation_id:
            return
        # Faust resumes partitions before it seeks, so that a fetch may already be on its way from the old position and its
        # records are lost to the seek (faust-streaming#596). Seek first, and open the flow last.
        if assignment:
            await self._wait(consumer.perform_seek(), timeout=app.conf.broker_request_timeout)
        self.completed.set()
        app.flow_control.resume()
        consumer.resume_partitions({tp for tp in assignment if not self._is_changelog_tp(tp)})
        consumer.resume_flow()
        await cast("Any", app)._fetcher.maybe_start()  # noqa: SLF001 - as Faust's own recovery does
        self.tables.on_actives_ready()
        self.tables.on_standbys_ready()
        app.on_rebalance_end()
        tables.settled(len({tp for tp in assignment if self._is_changelog_tp(tp)}))


class JournalTables(TableManager):
    """Faust's table manager, which has partitions claimed before recovery begins."""

    #: Set by the app's builder before the app starts.
    owner: Owner
    fatal: Callable[[BaseException], None]
    #: Told how many partitions flow, None when they begin to change hands.
    settled: Callable[[int | None], None]

    @property
    def recovery(self) -> Recovery:
        """The recovery service, ours."""
        if self._recovery is None:
            self._recovery = JournalRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery

    async def on_rebalance(
        self, assigned: set[TP], revoked: set[TP], newly_assigned: set[TP], generation_id: int = 0
    ) -> None:
        """Claim every assigned journal partition, then let Faust recover it from its beginning."""
        self.settled(None)
        await self.owner.lose()
        for table in self.values():
            journal = cast("JournalTable", table)
            topic = journal.changelog_topic.get_topic_name()
            partitions = {tp.partition for tp in assigned if tp.topic == topic}
            journal.own(partitions)
            # Faust would go on where it last read; a journal that moved away and came back must be read from the start.
            self.recovery.active_offsets.clear()
            try:
                await self.owner.claim(partitions)
            except Exception as exc:  # noqa: BLE001 - an unclaimed partition must not be read, let alone written
                self.fatal(exc)
                return
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)
