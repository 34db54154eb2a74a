"""What the turn worker tells about itself while it works: one method per thing worth counting, no content, no ids."""

from __future__ import annotations

from streams.turns.desk import Plan


class Observer:
    """Counts nothing. `streams.metrics` has the one that feeds Prometheus."""

    def applied(self, plan: Plan, sources: int) -> None:
        """A plan made of `sources` source records is journaled and on its way out."""

    def open_turns(self, partition: int, count: int) -> None:
        """The partition now has `count` open turns."""

    def waiting(self, partition: int, sources: int, effects: int) -> None:
        """In the partition, `sources` inputs are read and not journaled, and `effects` records not yet published."""
