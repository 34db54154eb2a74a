"""What is told to remain after an erasure, and until when."""

from __future__ import annotations

from topics.layout import TopicState, wanted_layout
from topics.names import DAY_S, TOPICS, Names
from topics.remains import HOLDS, SLACK_S, remnants

NAMES = Names("p.")
NOW = 1_800_000_000.0


def states(**changes: str) -> dict[str, TopicState]:
    """Return topics as they should be, with `changes` to the configuration of each."""
    wanted = wanted_layout(NAMES, 4)
    return {one.name: TopicState(one.name, one.partitions, dict(one.configs) | changes) for one in wanted}


def test_every_topic_that_tells_of_turns_is_named() -> None:
    """And the journals; only those that have no turns in them are left out."""
    told = [one.topic for one in remnants(NAMES, states(), NOW)]
    assert {topic.name for topic in TOPICS if topic not in HOLDS} == {"deployments", "audit", "workers"}
    assert told == [one for one in states() if one.removeprefix("p.") not in {"deployments", "audit", "workers"}]


def test_a_record_goes_with_its_segment() -> None:
    """What is written now: retention and segment together, and what brokers take to look."""
    found = {one.topic: one for one in remnants(NAMES, states(), NOW)}
    assert found["p.requests"].kept_s == 7 * DAY_S
    assert found["p.requests"].until == NOW + 8 * DAY_S + SLACK_S
    assert found["p.decisions"].until == NOW + 401 * DAY_S + SLACK_S
    journal = found["p.turns-journal-changelog"]
    assert (journal.kept_s, journal.until) == (None, NOW + DAY_S + 600 + SLACK_S)


def test_what_the_broker_has_counts() -> None:
    """Not what turngate would have given it; where nothing bounds it, that is said."""
    other = states(**{"retention.ms": "60000", "segment.ms": "1000", "max.compaction.lag.ms": str(2**63 - 1)})
    found = {one.topic: one for one in remnants(NAMES, other, NOW)}
    assert (found["p.frames"].kept_s, found["p.frames"].until) == (60, NOW + 61 + SLACK_S)
    assert found["p.models-journal-changelog"].until is None
    kept = {one.topic: one for one in remnants(NAMES, states(**{"retention.ms": "-1"}), NOW)}
    assert (kept["p.frames"].kept_s, kept["p.frames"].until) == (None, None)
    assert remnants(NAMES, {}, NOW) == remnants(NAMES, states(), NOW)
