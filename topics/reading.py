"""Has aiokafka's consumers read batches with `topics.batches`, which does not raise, and open what is sealed."""

from __future__ import annotations

from functools import partial
from types import FunctionType, MethodType
from typing import Any

from aiokafka.consumer.fetcher import PartitionRecords

from topics.batches import Batches, Record
from topics.errors import SealedRecordError
from topics.sealing import Sealing


def read_everything(consumer: Any, sealing: Sealing, *, as_read: bool = False) -> None:
    """Have a consumer that was just started, and is assigned nothing yet, give every record, also unreadable ones.

    With `as_read` its records are those of the batches, which do not say their topic and partition.

    aiokafka has no place to say with what batches are read: the name is looked up where fetch responses are taken in.
    So this consumer gets that function with another meaning of the name; every other consumer keeps its own.

    Where a record is sealed with a key that is not here, asking for records raises `SealedRecordError`, again and again.
    """
    fetcher = consumer._fetcher  # noqa: SLF001 - no setting reaches it
    theirs = type(fetcher)._proc_fetch_request  # noqa: SLF001
    names = {**theirs.__globals__, "MemoryRecords": Batches, "PartitionRecords": partial(_records_of, sealing, as_read)}
    ours = FunctionType(theirs.__code__, names, theirs.__name__, theirs.__defaults__, theirs.__closure__)
    fetcher._proc_fetch_request = MethodType(ours, fetcher)  # noqa: SLF001


def _records_of(sealing: Sealing, as_read: bool, tp: Any, *arguments: Any, **options: Any) -> Any:
    """Return the iterator over what was fetched of a partition."""
    if sealing.concerns(tp.topic):
        return (_OpenedAsRead if as_read else _OpenedRecords)(sealing, tp, *arguments, **options)
    return (_AsRead if as_read else PartitionRecords)(tp, *arguments, **options)


class _AsRead(PartitionRecords):  # type: ignore[misc]  # aiokafka has no types
    """Gives records as the batches have them: what aiokafka makes of each takes longer than to read it."""

    def _consumer_record(self, tp: Any, record: Any) -> Any:  # noqa: ARG002 - of which partition, its taker knows
        return record


class _Opener:
    """Opens the values of one partition's records, in the place that aiokafka has for a deserialiser."""

    def __init__(self, sealing: Sealing, topic: str, partition: int) -> None:
        self._sealing = sealing
        self._topic = topic
        self._partition = partition
        #: The record whose value is asked for next.
        self.record: Any = None

    def __call__(self, value: bytes | None) -> bytes | None:
        return self._sealing.open((self._topic, self._partition, self.record.offset), self.record.key, value)


class _OpenedRecords(PartitionRecords):  # type: ignore[misc]  # aiokafka has no types
    """aiokafka's, with values opened as they are taken."""

    def __init__(self, sealing: Sealing, tp: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(tp, *arguments, **options)
        # Not a method of this object: what was fetched would stay in memory until cycles are collected.
        self._value_deserializer = self._opener = _Opener(sealing, tp.topic, tp.partition)
        self._stopped_by: SealedRecordError | None = None

    def __next__(self) -> Any:
        # A generator that raised is at its end: the records after it would be taken for read.
        if self._stopped_by is not None:
            raise self._stopped_by
        try:
            return super().__next__()
        except SealedRecordError as error:
            self._stopped_by = error
            raise

    def _consumer_record(self, tp: Any, record: Any) -> Any:
        self._opener.record = record
        return super()._consumer_record(tp, record)


class _OpenedAsRead(_OpenedRecords):
    """Both: records as the batches have them, but for the values that are not as they were written."""

    def __init__(self, sealing: Sealing, tp: Any, *arguments: Any, **options: Any) -> None:
        super().__init__(sealing, tp, *arguments, **options)
        self._sealing = sealing
        self._takes_plain = sealing.takes_plain(tp.topic)

    def _consumer_record(self, tp: Any, record: Any) -> Any:  # noqa: ARG002 - of which partition, its taker knows
        value = record.value
        if self._takes_plain and not self._sealing.is_sealed(value):
            return record
        self._opener.record = record
        opened = self._opener(value)
        if opened is value:
            return record
        return Record(record.offset, record.timestamp, record.timestamp_type, record.key, opened, record.headers)
