"""Permissions: each role gets what the table of topics and the list of readers say, by literal names."""

from __future__ import annotations

import pytest

from topics import names
from topics.acls import ACL_ROLES, READS, REPLAYED, AclRole, grants
from topics.dead_letters import REPLAYABLE
from topics.layout import wanted_layout
from topics.names import TOPICS, Names

NAMES = Names("p.")


def allowed(role: AclRole, operation: str, *, replays: bool = True) -> set[str]:
    """Return the topics with which a role may do this."""
    granted = grants(role, NAMES, replays=replays)
    return {one.name for one in granted if one.resource == "topic" and operation in one.operations}


def test_only_turn_workers_write_what_is_released() -> None:
    """The rule that all of this is for."""
    assert [role for role in ACL_ROLES if "p.released" in allowed(role, "Write")] == ["turns"]


def test_nobody_but_an_operator_and_workers_can_have_anything_erased() -> None:
    """Callers may submit to any thread of the pipeline; that does not let them erase it."""
    assert {role for role in ACL_ROLES if "p.erasures" in allowed(role, "Write")} == {
        "turns",
        "models",
        "tools",
        "operator",
    }
    assert {role for role in ACL_ROLES if "p.erasures" in allowed(role, "Read")} == {
        "turns",
        "models",
        "tools",
        "operator",
    }


def test_readers_may_read_what_is_released_and_nothing_else() -> None:
    """Not even describe another topic."""
    (grant,) = grants("readers", NAMES)
    assert (grant.resource, grant.name, grant.operations) == ("topic", "p.released", ("Read",))


@pytest.mark.parametrize("role", ["turns", "models", "tools"])
def test_a_journal_is_its_own_role_s(role: AclRole) -> None:
    """Others see that it is there, and the operator lays it out."""
    journals = {NAMES.journal(one) for one in ("turns", "models", "tools")}
    mine = NAMES.journal(role)  # type: ignore[arg-type]
    assert allowed(role, "Read") & journals == allowed(role, "Write") & journals == {mine}
    assert allowed(role, "Describe") & journals == journals - {mine}
    assert not allowed("operator", "Read") & journals


def test_every_topic_is_written_and_read_by_somebody() -> None:
    """One that nobody may write or read is missing from a list."""
    for topic in TOPICS:
        assert any(NAMES.topic(topic) in allowed(role, "Write", replays=False) for role in ACL_ROLES), topic.name
        assert any(topic in READS[role] for role in ACL_ROLES), topic.name


def test_the_operator_lays_out_every_topic() -> None:
    """To create and check them, with their configuration."""
    layout = {one.name for one in wanted_layout(NAMES, 1)}
    for operation in ("Create", "Describe", "DescribeConfigs", "AlterConfigs"):
        assert allowed("operator", operation) == layout


def test_an_operator_sees_refused_records_only_if_wanted() -> None:
    """To send them again means to be able to see them."""
    assert set(REPLAYED) == set(REPLAYABLE)
    assert NAMES.topic(names.FRAMES) in allowed("operator", "Read")
    sensitive = {NAMES.topic(one) for one in TOPICS if one.sensitive} - {
        NAMES.topic(names.DEAD_LETTERS),
        NAMES.topic(names.ERASURES),
    }
    assert not allowed("operator", "Read", replays=False) & sensitive
    assert not allowed("operator", "Write", replays=False) & sensitive


def test_commands_quote_what_a_shell_would_take_apart() -> None:
    """They are made to be pasted."""
    (grant,) = grants("readers", NAMES)
    command = grant.command("b:9092", "User:CN=a reader")
    assert command.startswith("kafka-acls.sh --bootstrap-server b:9092 --add --allow-principal 'User:CN=a reader' --op")
    assert command.endswith("--operation Read --topic p.released")
