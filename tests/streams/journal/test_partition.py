"""A journal partition as its owner uses it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from streams.journal.keys import RowKey
from streams.journal.partition import PartitionJournal
from streams.journal.writer import Row


class Recorder:
    """A writer under epoch 7 that notes what it is asked for."""

    epoch = 7

    def __init__(self) -> None:
        self.appended: list[Sequence[Row]] = []
        self.cleared: list[Sequence[bytes]] = []
        self.failure: Exception | None = None

    async def append(self, rows: Sequence[Row]) -> None:
        """Note rows."""
        if self.failure is not None:
            raise self.failure
        self.appended.append(rows)

    async def clear(self, keys: Sequence[bytes]) -> None:
        """Note tombstones."""
        self.cleared.append(keys)


async def test_rows_that_were_there_and_rows_appended_are_cleared_with_their_own_keys() -> None:
    """The owner names subjects, not rows."""
    writer = Recorder()
    journal = PartitionJournal(writer, {"s": {0: (3, b"")}})
    await journal.append([Row("s", 1, b""), Row("s", 2, b""), Row("t", 0, b"")])
    await journal.clear_but_last(["s"])
    assert writer.cleared == [[RowKey("s", 0, 3).encode(), RowKey("s", 1, 7).encode()]]
    await journal.clear(["s", "t"])
    assert writer.cleared[1] == [RowKey("s", 2, 7).encode(), RowKey("t", 0, 7).encode()]


async def test_nothing_is_written_for_nothing() -> None:
    """An empty append and an empty clearing never reach the broker."""
    writer = Recorder()
    journal = PartitionJournal(writer, {})
    await journal.append([])
    await journal.clear_but_last(["nobody"])
    await journal.clear([])
    assert (writer.appended, writer.cleared) == ([], [])


async def test_rows_count_only_once_they_are_durable() -> None:
    """An append that failed leaves nothing to clear."""
    writer = Recorder()
    journal = PartitionJournal(writer, {})
    writer.failure = ConnectionError("gone")
    with pytest.raises(ConnectionError):
        await journal.append([Row("s", 0, b"")])
    await journal.clear(["s"])
    assert writer.cleared == []
