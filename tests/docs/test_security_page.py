"""`docs/security.md` against the code: the settings it names, and what each role may read and write."""

from __future__ import annotations

import re
import tomllib

from streams.settings import Settings
from tests.docs.markdown import ROOT, code, fences, sections
from topics.acls import ACL_ROLES, grants
from topics.names import DAY_S, TOPICS, Names

PAGE = ROOT / "docs" / "security.md"
_NAME = re.compile(r"`([\w-]+)`")


def test_each_role_s_topics_are_those_that_are_granted() -> None:
    """Reads and writes, in the order of the table of topics, and the journal where there is one."""
    names = Names("")
    order = [topic.name for topic in TOPICS]
    rows = {code(row["role"]): row for row in sections(PAGE)["Permissions"].rows}
    assert tuple(rows) == ACL_ROLES
    for role, row in rows.items():
        granted = [one for one in grants(role, names, replays=False) if one.resource == "topic"]  # type: ignore[arg-type]
        for column, operation in (("reads", "Read"), ("writes", "Write")):
            allowed = {one.name for one in granted if operation in one.operations}
            assert [name for name in order if name in allowed] == _NAME.findall(row[column]), (role, column)
            assert ("its journal" in row[column]) == bool(allowed - set(order)), (role, column)


def test_the_settings_that_it_names_are_there() -> None:
    """Each of those that begin with `kafka_`; and the files that are shown are some."""
    named = set(re.findall(r"\bkafka_\w+", PAGE.read_text(encoding="utf-8")))
    assert named <= set(Settings.model_fields)
    login, kept = [Settings(**tomllib.loads(fence.text)) for fence in fences(PAGE) if fence.language == "toml"]
    assert login.kafka_username == "turngate-turns"
    assert kept.retention_s["released"] == 3 * DAY_S
