"""What a Kafka broker keeps, in memory: logs with offsets and tombstones, compaction, committed offsets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from topics.trace_context import Headers


@dataclass(frozen=True, slots=True)
class Stored:
    """One record as the broker has it. `serial` counts the records of the whole broker in order of arrival."""

    serial: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Log:
    """One partition: records by offset. Offsets only grow; compaction leaves holes."""

    def __init__(self) -> None:
        self.records: list[Stored] = []
        self.end = 0

    def append(self, serial: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Append a record and return its offset."""
        offset = self.end
        self.records.append(Stored(serial, offset, key, value, headers))
        self.end += 1
        return offset

    def read(self, start: int, stop: int | None = None) -> list[Stored]:
        """Return what is there of the offsets in [`start`, `stop`)."""
        limit = self.end if stop is None else stop
        return [one for one in self.records if start <= one.offset < limit]

    def compact(self, upto: int | None = None, *, drop_tombstones: bool = False) -> None:
        """Keep each key's last record among those before offset `upto`; what follows is the active segment.

        With `drop_tombstones`, `delete.retention.ms` has passed for the tombstones there.
        """
        limit = self.end if upto is None else upto
        last = {one.key: one.offset for one in self.records if one.offset < limit}
        self.records = [
            one
            for one in self.records
            if one.offset >= limit or (last[one.key] == one.offset and not (drop_tombstones and one.value is None))
        ]


class Broker:
    """Topics by name, each partition a `Log`; `committed` is the next offset that a consumer group would read."""

    def __init__(self) -> None:
        self.logs: defaultdict[tuple[str, int], Log] = defaultdict(Log)
        self.committed: dict[tuple[str, int], int] = {}
        self._serial = 0

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Append a record and return its offset."""
        self._serial += 1
        return self.logs[topic, partition].append(self._serial, key, value, headers)

    def read(self, topic: str, partition: int = 0, start: int = 0) -> Sequence[Stored]:
        """Return the records of a partition from offset `start` on."""
        return self.logs[topic, partition].read(start)

    def values(self, topic: str, partition: int = 0) -> list[bytes]:
        """Return the values of a partition, tombstones left out."""
        return [one.value for one in self.read(topic, partition) if one.value is not None]
