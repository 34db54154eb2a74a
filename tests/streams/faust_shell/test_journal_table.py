"""The journal as a Faust table: what recovery reads is collected once, for owned partitions only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from streams.faust_shell.journal_table import JournalTable
from streams.journal.claims import Claim
from streams.journal.keys import RowKey, claim_key

TOPIC = "turngate.turns-journal-changelog"


def a_table(*partitions: int) -> JournalTable:
    """Return a table that owns `partitions`, with no app behind it."""
    table = cast("Any", JournalTable.__new__(JournalTable))
    table._changelog_topic = SimpleNamespace(get_topic_name=lambda: TOPIC)
    table.replays, table._applied = {}, {}
    table.own(partitions)
    return cast("JournalTable", table)


def event(partition: int, offset: int, key: bytes | None, value: bytes | None, topic: str = TOPIC) -> Any:
    """Return an event as recovery delivers it, with a batch of one record."""
    record = SimpleNamespace(offset=offset, key=key, value=value)
    return SimpleNamespace(message=SimpleNamespace(topic=topic, partition=partition, offset=offset, records=[record]))


def together(*events: Any) -> Any:
    """Return one event with the records of all of these, as one fetch brings them."""
    last = events[-1].message
    records = [record for one in events for record in one.message.records]
    return SimpleNamespace(
        message=SimpleNamespace(topic=last.topic, partition=last.partition, offset=last.offset, records=records)
    )


def claim(partition: int, offset: int) -> Any:
    """Return a claim as recovery delivers it."""
    return event(partition, offset, claim_key(str(offset)), Claim("worker", 1).encode())


def row(partition: int, offset: int, n: int, value: bytes | None = b"v", epoch: int = 0) -> Any:
    """Return a row as recovery delivers it."""
    return event(partition, offset, RowKey("s", n, epoch).encode(), value)


def test_records_of_owned_partitions_are_collected_partition_by_partition() -> None:
    """One batch may hold several partitions."""
    table = a_table(0, 2)
    table.apply_changelog_batch([claim(0, 0), claim(2, 0), row(0, 1, 0), row(2, 1, 5)])
    assert {partition: list(replay.rows["s"]) for partition, replay in table.replays.items()} == {0: [0], 2: [5]}


def test_records_of_partitions_and_topics_that_are_not_owned_are_passed_over() -> None:
    """A batch of an earlier assignment may come late."""
    table = a_table(0)
    table.apply_changelog_batch(
        [claim(0, 0), row(1, 1, 0), event(0, 1, RowKey("s", 0, 0).encode(), b"v", "another-changelog")]
    )
    assert list(table.replays) == [0]
    assert table.replays[0].rows == {}


def test_a_record_that_recovery_delivers_again_changes_nothing() -> None:
    """Replaying a row after its tombstone would bring it back."""
    table = a_table(0)
    batch = [claim(0, 0), row(0, 1, 0), row(0, 2, 0, None)]
    table.apply_changelog_batch(batch)
    table.apply_changelog_batch(batch)
    assert table.replays[0].rows == {}
    assert table.replays[0].claims == [claim_key("0")]


def test_a_batch_that_overlaps_the_one_before_it_counts_from_where_that_ended() -> None:
    """A fetch that is made again may begin earlier, and bring more."""
    table = a_table(0)
    table.apply_changelog_batch([together(claim(0, 0), row(0, 1, 0), row(0, 2, 0, None))])
    table.apply_changelog_batch([together(row(0, 1, 0), row(0, 2, 0, None), row(0, 3, 1), row(0, 4, 2))])
    assert list(table.replays[0].rows["s"]) == [1, 2]


def test_owning_anew_forgets_everything() -> None:
    """A journal that moved away and came back is read from its beginning."""
    table = a_table(0)
    table.apply_changelog_batch([claim(0, 0), row(0, 1, 0)])
    table.own([0, 1])
    assert [replay.rows for replay in table.replays.values()] == [{}, {}]
    table.apply_changelog_batch([claim(0, 0), row(0, 1, 0)])
    assert list(table.replays[0].rows["s"]) == [0]


def test_what_was_taken_is_kept_by_its_owner_alone() -> None:
    """Records that come later belong to nobody here."""
    table = a_table(0)
    table.apply_changelog_batch([claim(0, 0), row(0, 1, 0)])
    replays = table.take_replays()
    assert list(replays[0].rows["s"]) == [0]
    assert table.replays == {}
    table.apply_changelog_batch([row(0, 2, 1)])
    assert list(replays[0].rows["s"]) == [0]
