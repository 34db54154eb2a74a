"""What the turn worker tells about itself while it works: one method per thing worth counting, no content, no ids."""

from __future__ import annotations

from streams.turns.plan import Plan


class Observer:
    """Counts nothing. `streams.metrics` has the one that feeds Prometheus."""

    def applied(self, plan: Plan, sources: int) -> None:
        """A plan made of `sources` source records is journaled and on its way out."""

    def open_turns(self, partition: int, count: int) -> None:
        """The partition now has `count` open turns."""

    def waiting(self, partition: int, sources: int, effects: int) -> None:
        """In the partition, `sources` inputs are read and not journaled, and `effects` records not yet published."""

    def journaled(self, seconds: float) -> None:
        """An append to the journal was durable after so long."""

    def released(self, seconds: float) -> None:
        """The broker has released text or an ending, so long after the record that caused it was read."""

    def first_release(self, seconds: float) -> None:
        """A turn's first text is on its way, so long after the turn was taken in."""

    def held(self, partition: int, characters: int, oldest_s: float, held_s: float) -> None:
        """Readers lack `characters` of the partition's open answers, and its oldest turn is `oldest_s` seconds old.

        The turn that has lacked some for longest, without any being released since, has done so for `held_s` seconds.
        """

    def lost(self, partition: int) -> None:
        """The partition is no longer this worker's."""
