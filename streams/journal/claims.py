"""The value of a claim record: who claimed a partition, and how many partitions the pipeline had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import orjson

from streams.journal.errors import PartitionCountError


@dataclass(frozen=True, slots=True)
class Claim:
    """`worker` owns the partition from this record on, in a pipeline of `partitions`."""

    worker: str
    partitions: int

    def encode(self) -> bytes:
        """Return the record's value as JSON."""
        return orjson.dumps({"v": 1, "worker": self.worker, "partitions": self.partitions})

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Return the claim that `value` holds."""
        data = orjson.loads(value)
        return cls(worker=data["worker"], partitions=data["partitions"])

    def expect(self, partitions: int, topic: str) -> None:
        """Check that the pipeline still has as many partitions.

        Raises:
            PartitionCountError: it has not; a thread's records would meet on another partition than its journal.
        """
        if self.partitions != partitions:
            raise PartitionCountError(
                f"{topic} was claimed when the pipeline had {self.partitions} partitions, now it has {partitions}. "
                "Threads would lose their journal: create topics under a new prefix and drain the old one."
            )
