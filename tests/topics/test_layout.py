"""The layout that topics must have, and what is said of those that do not."""

from __future__ import annotations

import pytest

from topics.layout import CORRECTABLE, Finding, TopicLayout, TopicState, findings, wanted_layout
from topics.names import TOPICS, Names

NAMES = Names("p.")


def layout_of(name: str, *, partitions: int = 4, replication: int = 1) -> TopicLayout:
    """Return the wanted layout of one topic."""
    return {layout.name: layout for layout in wanted_layout(NAMES, partitions, replication)}[name]


def state_of(layout: TopicLayout) -> TopicState:
    """Return a topic that is as it should be."""
    return TopicState(layout.name, layout.partitions, layout.configs)


def test_every_topic_and_every_journal_is_laid_out() -> None:
    """Nothing a pipeline writes to is left to the broker to invent."""
    names = [layout.name for layout in wanted_layout(NAMES, 4)]
    journals = [NAMES.journal("turns"), NAMES.journal("models"), NAMES.journal("tools")]
    assert names == [NAMES.topic(topic) for topic in TOPICS] + journals


def test_turn_topics_share_the_partition_count_and_control_topics_have_one() -> None:
    """A thread meets on one worker; what is read as a whole is in one order."""
    counts = {layout.name: layout.partitions for layout in wanted_layout(NAMES, 7)}
    assert {name for name, count in counts.items() if count == 1} == {"p.deployments", "p.audit", "p.workers"}
    assert {count for name, count in counts.items() if name not in {"p.deployments", "p.audit", "p.workers"}} == {7}


def test_a_journal_is_compacted_and_never_deleted_by_age() -> None:
    """Its tombstones stay for an hour, and its segments roll every ten minutes."""
    assert layout_of("p.turns-journal-changelog").configs == {
        "cleanup.policy": "compact",
        "delete.retention.ms": "3600000",
        "segment.ms": "600000",
        "max.compaction.lag.ms": "86400000",
    }


@pytest.mark.parametrize(
    ("name", "days"),
    [("requests", 7), ("prompts", 1), ("frames", 1), ("released", 7), ("usage", 30), ("decisions", 400)],
)
def test_other_topics_forget_in_time(name: str, days: int) -> None:
    """A day's segment at most, so that sensitive text does not outlive its retention by a week."""
    day_ms = 24 * 60 * 60 * 1000
    configs = layout_of(f"p.{name}").configs
    assert configs == {"cleanup.policy": "delete", "retention.ms": str(days * day_ms), "segment.ms": str(day_ms)}


@pytest.mark.parametrize(("replication", "quorum"), [(-1, None), (1, None), (2, None), (3, "2"), (5, "2")])
def test_three_replicas_need_two_to_acknowledge(replication: int, quorum: str | None) -> None:
    """With fewer, or where the broker decides, nothing is demanded that it might not have."""
    assert layout_of("p.frames", replication=replication).configs.get("min.insync.replicas") == quorum
    assert layout_of("p.turns-journal-changelog", replication=replication).configs.get("min.insync.replicas") == quorum


@pytest.mark.parametrize(("partitions", "replication"), [(0, 1), (-1, 1), (1, 0), (1, -2)])
def test_impossible_numbers_are_refused(partitions: int, replication: int) -> None:
    """Before a broker is asked."""
    with pytest.raises(ValueError, match="must be at least 1"):
        wanted_layout(NAMES, partitions, replication)


def test_a_right_layout_has_no_findings() -> None:
    """What `wanted_layout` says is what it accepts."""
    wanted = wanted_layout(NAMES, 3)
    assert findings(wanted, {layout.name: state_of(layout) for layout in wanted}) == []


def test_each_fault_is_a_finding_of_its_own() -> None:
    """Missing, wrong partitions and wrong cleanup are told apart, and both values are named."""
    frames, prompts = layout_of("p.frames"), layout_of("p.prompts")
    wrong = TopicState("p.frames", 3, {"cleanup.policy": "compact"})
    found = findings([frames, prompts], {"p.frames": wrong})
    assert [(finding.topic, finding.kind) for finding in found] == [
        ("p.frames", "partitions"),
        ("p.frames", "cleanup"),
        ("p.prompts", "missing"),
    ]
    assert [str(finding) for finding in found] == [
        "p.frames: has 3 partitions, wanted 4 partitions",
        "p.frames: has cleanup.policy=compact, wanted cleanup.policy=delete",
        "p.prompts: is missing, wanted 4 partitions and cleanup.policy=delete",
    ]


@pytest.mark.parametrize("policy", ["delete", "compact,delete", "delete, compact"])
def test_a_journal_that_also_deletes_is_a_finding(policy: str) -> None:
    """It would forget open turns."""
    journal = layout_of("p.turns-journal-changelog")
    state = TopicState(journal.name, journal.partitions, {**journal.configs, "cleanup.policy": policy})
    assert [finding.kind for finding in findings([journal], {journal.name: state})] == ["cleanup"]


def test_a_journal_whose_tombstones_go_early_is_a_finding() -> None:
    """A longer time is fine."""
    journal = layout_of("p.models-journal-changelog")
    for kept, kinds in (("3599999", ["delete-retention"]), ("3600000", []), ("86400000", [])):
        state = TopicState(journal.name, journal.partitions, {**journal.configs, "delete.retention.ms": kept})
        assert [finding.kind for finding in findings([journal], {journal.name: state})] == kinds


def test_another_retention_than_the_settings_say_is_a_finding() -> None:
    """Where they do not say it, what the broker has is fine; a segment lasts no longer than what is in it is kept."""
    (frames,) = (one for one in wanted_layout(NAMES, 4, retention_s={"frames": 3600}) if one.name == "p.frames")
    assert (frames.configs["retention.ms"], frames.configs["segment.ms"]) == ("3600000", "3600000")
    usual = layout_of("p.frames")
    (found,) = findings([frames], {usual.name: state_of(usual)})
    assert findings([usual], {frames.name: state_of(frames)}) == []
    assert str(found) == "p.frames: has retention.ms=86400000, wanted retention.ms=3600000"
    assert {found.kind} <= CORRECTABLE


def test_a_journal_whose_old_values_may_stay_for_ever_is_a_finding() -> None:
    """What is under tombstones goes within a day; sooner is fine."""
    journal = layout_of("p.turns-journal-changelog")
    for lag, kinds in (("9223372036854775807", ["compaction-lag"]), ("86400000", []), ("1", [])):
        state = TopicState(journal.name, journal.partitions, {**journal.configs, "max.compaction.lag.ms": lag})
        assert [finding.kind for finding in findings([journal], {journal.name: state})] == kinds


def test_what_the_broker_does_not_tell_is_no_alarm() -> None:
    """Some brokers report only what was set explicitly, some nothing."""
    for layout in wanted_layout(NAMES, 3):
        assert findings([layout], {layout.name: TopicState(layout.name, layout.partitions)}) == []


def test_a_retention_chosen_by_the_operator_is_no_finding() -> None:
    """How long to keep records is theirs to say."""
    frames = layout_of("p.frames")
    state = TopicState("p.frames", 4, {**frames.configs, "retention.ms": "1"})
    assert findings([frames], {"p.frames": state}) == []


def test_one_partition_is_written_in_the_singular() -> None:
    """The words are printed as they are."""
    workers = layout_of("p.workers")
    found = findings([workers], {"p.workers": TopicState("p.workers", 2)})
    assert found == [Finding("p.workers", "partitions", "2 partitions", "1 partition")]
