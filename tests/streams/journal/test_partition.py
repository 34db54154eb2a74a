"""A journal partition as its owner uses it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from streams.journal.keys import RowKey
from streams.journal.ledger import Ledger
from streams.journal.partition import PartitionJournal
from streams.journal.writer import Row
from tests.streams.at_once import at_once


class Recorder:
    """A writer under epoch 7 that notes what it is asked for."""

    epoch = 7

    def __init__(self) -> None:
        self.written: list[tuple[list[bytes], list[Row]]] = []
        self.failure: Exception | None = None

    async def append(self, rows: Sequence[Row], gone: Sequence[bytes] = ()) -> None:
        """Note tombstones and rows."""
        if self.failure is not None:
            raise self.failure
        self.written.append((list(gone), list(rows)))


def row_key(subject: str, n: int, epoch: int = 7) -> bytes:
    """Return the key of a row."""
    return RowKey(subject, n, epoch).encode()


async def test_rows_that_were_there_and_rows_appended_are_cleared_with_their_own_keys() -> None:
    """The owner names subjects, not rows."""
    writer = Recorder()
    journal = PartitionJournal(writer, at_once(Ledger.of({"s": {0: (3, b"")}})))
    await journal.append([Row("s", 1, b""), Row("s", 2, b""), Row("t", 0, b"")])
    journal.clear_but_last(["s"])
    await journal.flush()
    assert writer.written[1] == ([row_key("s", 0, 3), row_key("s", 1)], [])
    journal.clear(["s", "t"])
    await journal.flush()
    assert writer.written[2] == ([row_key("s", 2), row_key("t", 0)], [])


async def test_what_was_cleared_goes_before_the_rows_of_the_next_append() -> None:
    """In one batch, and once; a row of the same key that is written later is not cleared by it."""
    writer = Recorder()
    journal = PartitionJournal(writer, Ledger())
    await journal.append([Row("s", 0, b"")])
    journal.clear(["s"])
    journal.clear_before("s", 9)
    assert len(writer.written) == 1
    await journal.append([Row("s", 0, b"again")])
    assert writer.written[1] == ([row_key("s", 0)], [Row("s", 0, b"again")])
    await journal.flush()
    assert len(writer.written) == 2


async def test_nothing_is_written_for_nothing() -> None:
    """An empty append and an empty clearing never reach the broker."""
    writer = Recorder()
    journal = PartitionJournal(writer, Ledger())
    await journal.append([])
    journal.clear_but_last(["nobody"])
    journal.clear([])
    await journal.flush()
    assert writer.written == []


async def test_rows_count_only_once_they_are_durable() -> None:
    """An append that failed leaves nothing to clear."""
    writer = Recorder()
    journal = PartitionJournal(writer, Ledger())
    writer.failure = ConnectionError("gone")
    with pytest.raises(ConnectionError):
        await journal.append([Row("s", 0, b"")])
    writer.failure = None
    journal.clear(["s"])
    await journal.flush()
    assert writer.written == []
