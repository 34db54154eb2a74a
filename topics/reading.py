"""Has aiokafka's consumers read batches with `topics.batches`, which does not raise."""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any

from aiokafka.consumer.fetcher import PartitionRecords

from topics.batches import Batches


class AsRead(PartitionRecords):  # type: ignore[misc] # aiokafka has no types
    """Gives records as the batches have them: what aiokafka makes of each takes longer than to read it."""

    def _consumer_record(self, tp: Any, record: Any) -> Any:  # noqa: ARG002 - of which partition, its taker knows
        return record


def read_everything(consumer: Any, *, as_read: bool = False) -> None:
    """Have a consumer that was just started, and is assigned nothing yet, give every record, also unreadable ones.

    With `as_read` its records are those of the batches, which do not say their topic and partition.

    aiokafka has no place to say with what batches are read: the name is looked up where fetch responses are taken in.
    So this consumer gets that function with another meaning of the name; every other consumer keeps its own.
    """
    fetcher = consumer._fetcher  # noqa: SLF001 - no setting reaches it
    theirs = type(fetcher)._proc_fetch_request  # noqa: SLF001
    names = {**theirs.__globals__, "MemoryRecords": Batches}
    if as_read:
        names["PartitionRecords"] = AsRead
    ours = FunctionType(theirs.__code__, names, theirs.__name__, theirs.__defaults__, theirs.__closure__)
    fetcher._proc_fetch_request = MethodType(ours, fetcher)  # noqa: SLF001
