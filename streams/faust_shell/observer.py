"""What a worker tells about its place in its group, whatever its role."""

from __future__ import annotations

from collections.abc import Mapping


class WorkerObserver:
    """Is told of rebalances and of how far behind the worker is; does nothing."""

    def assigned(self, partitions: int) -> None:
        """The worker owns so many partitions now, and works on them."""

    def lag(self, behind: Mapping[tuple[str, int], int]) -> None:
        """So many records of each assigned partition, by topic and number, are not read yet."""
