"""The table of topics."""

from __future__ import annotations

import pytest

from topics import codec
from topics.names import BY_NAME, REQUEST, TOPICS, Names
from topics.records import CancelTurn, TurnRequest

DAY_S = 24 * 60 * 60


def test_the_table_is_the_one_of_the_contract() -> None:
    """Name, retention in days (None: compacted), and whether there is one partition per thread's share."""
    assert [(topic.name, topic.retention_s and topic.retention_s / DAY_S, topic.per_turn) for topic in TOPICS] == [
        ("requests", 7, True),
        ("prompts", 1, True),
        ("frames", 1, True),
        ("cancels", 1, True),
        ("tool-calls", 1, True),
        ("tool-results", 1, True),
        ("released", 7, True),
        ("usage", 30, True),
        ("decisions", 400, True),
        ("deployments", None, False),
        ("audit", 400, False),
        ("erasures", 7, True),
        ("workers", None, False),
        ("dead-letters", 14, True),
    ]
    assert [BY_NAME[topic.name] for topic in TOPICS] == list(TOPICS)


def test_cleanup_follows_from_retention() -> None:
    """What has none is compacted."""
    assert {topic.name for topic in TOPICS if topic.cleanup == "compact"} == {"deployments", "workers"}
    assert {topic.cleanup for topic in TOPICS} == {"compact", "delete"}


def test_readers_may_see_only_what_passed_the_gate() -> None:
    """Everything else is to be denied to them."""
    open_to_readers = {topic.name for topic in TOPICS if not topic.sensitive}
    assert open_to_readers == {"released", "usage", "decisions", "deployments", "audit", "workers"}


def test_only_the_turn_worker_releases() -> None:
    """No other role may write there."""
    assert BY_NAME["released"].writers == ("turn worker",)


def test_names_carry_the_prefix_and_lose_it() -> None:
    """Two pipelines share neither topics, nor journals, nor groups."""
    one, two = Names("one."), Names("two.")
    for topic in TOPICS:
        assert one.topic(topic) == f"one.{topic.name}"
        assert one.short(one.topic(topic)) == topic.name
    mine = {one.topic(topic) for topic in TOPICS} | {one.journal("turns"), one.journal("models"), one.group("turns")}
    theirs = {two.topic(topic) for topic in TOPICS} | {two.journal("turns"), two.journal("models"), two.group("turns")}
    assert len(mine) == len(TOPICS) + 3
    assert not mine & theirs


def test_a_journal_has_the_name_that_faust_gives_it() -> None:
    """App id, table name, and its word for the log behind a table."""
    assert Names("p.").journal("turns") == "p.turns-journal-changelog"
    assert Names().group("models") == "turngate.models"


@pytest.mark.parametrize("kind", ["", '"type":"turn",'])
def test_a_request_without_a_type_is_a_turn(kind: str) -> None:
    """Callers write one kind most of the time."""
    raw = f'{{{kind}"thread_id":"t","turn_id":"u","message":"hi"}}'.encode()
    assert isinstance(codec.decode(raw, REQUEST), TurnRequest)


def test_a_cancellation_says_that_it_is_one() -> None:
    """And needs no message."""
    assert codec.decode(b'{"type":"cancel","thread_id":"t","turn_id":"u"}', REQUEST) == CancelTurn(
        thread_id="t", turn_id="u"
    )
