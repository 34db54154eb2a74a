"""The journal as a Faust table: Faust recovers it from its changelog topic, which is the journal itself.

Nothing is ever written through the table: appends go through `streams.journal.writer`, straight to the producer, because a
write through Faust cannot be awaited.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import faust
from faust.types import EventT

from streams.faust_shell.transport import Batch
from streams.journal.errors import UnreadableGapError
from streams.journal.replay import Replay
from streams.ports import Fatal
from topics.unreadable import Unreadable


def _not_yet_told(exc: BaseException) -> None:
    raise exc


class JournalTable(faust.Table[bytes, bytes]):
    """Collects what recovery reads, one replay per partition owned.

    `owned` is set when partitions are claimed and cleared when they are lost: records of other partitions, and records
    that recovery delivers twice, are passed over.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fatal: Fatal = _not_yet_told
        self.replays: dict[int, Replay] = {}
        self._applied: dict[int, int] = {}

    def own(self, partitions: Iterable[int]) -> None:
        """Start over: forget everything, and collect records of `partitions` from now on."""
        self.replays = {partition: Replay() for partition in partitions}
        self._applied = dict.fromkeys(self.replays, -1)

    def take_replays(self) -> dict[int, Replay]:
        """Return what was collected, and keep nothing of it: from now on the partitions' owner holds the state."""
        replays, self.replays = self.replays, {}
        return replays

    def apply_changelog_batch(self, batch: Iterable[EventT[Any]]) -> None:
        """Take in records that recovery read: of each event those of one fetch (`transport.Batch`)."""
        topic = self.changelog_topic.get_topic_name()
        for event in batch:
            message = cast("Batch", event.message)
            replay = self.replays.get(message.partition)
            if message.topic != topic or replay is None:
                continue
            for record in message.records:
                if record.offset <= self._applied[message.partition]:
                    continue
                self._applied[message.partition] = record.offset
                if isinstance(record.value, Unreadable):
                    place = f"{topic}[{message.partition}] at offset {record.offset}"
                    self.fatal(UnreadableGapError(f"{place}: {record.value.reason}"))
                    return
                try:
                    replay.apply(record.offset, record.key or b"", record.value)
                except ValueError:
                    place = f"{topic}[{message.partition}] at offset {record.offset}"
                    self.fatal(
                        UnreadableGapError(f"{place}: this is no journal record, and nobody but workers may write here")
                    )
                    return

    async def on_recovery_completed(self, active_tps: Any, standby_tps: Any) -> None:
        """Do nothing: the journal's owner is told by `recovery.JournalRecovery`, which lets no exception pass unseen."""
