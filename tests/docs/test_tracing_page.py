"""The page on traces: its tables say what spans say, whose they are, and which topics carry a context."""

from __future__ import annotations

import re
from itertools import pairwise

from streams.tracing import http, spans
from tests.docs.markdown import ROOT, sections
from tests.integration.test_tracing import DEPS
from topics import names

PAGE = ROOT / "docs" / "tracing.md"
_CODE = re.compile(r"`([^`]+)`")


def test_the_attributes_are_those_that_there_are() -> None:
    """None that no span has, and none forgotten; what they are on, the tests of `streams.tracing` compare in full."""
    written = {
        name for row in sections(PAGE)["What a trace is made of"].rows for name in _CODE.findall(row["attributes"])
    }
    ours = {value for name, value in vars(spans).items() if name.isupper() and isinstance(value, str)}
    assert written == ours | {http.METHOD, http.ROUTE, http.STATUS}


def test_a_topic_carries_what_the_table_says() -> None:
    """Every topic of turns is in it once, and no other; nobody traces what was refused, nor who is forgotten."""
    listed = [name for row in sections(PAGE)["Context"].rows for name in _CODE.findall(row["records on"])]
    turn_topics = {topic.name for topic in names.TOPICS if topic.per_turn}
    assert sorted(listed) == sorted(turn_topics - {"dead-letters", "erasures"})


def test_the_picture_is_what_the_test_of_real_processes_sees() -> None:
    """The help desk's, with the processors of that test in the order of a turn."""
    lines = PAGE.read_text(encoding="utf-8").split("```\n")[2].splitlines()
    drawn = [line.replace("│", "").split("─ ")[-1].split("  ")[0] for line in lines if "─ " in line]
    assert DEPS.endswith("desk_deps:deps")
    assert set(drawn) == {
        "invoke_agent desk",
        "governance no-shouting",
        "input mask-numbers",
        "chat qwen3-8b",
        "output redact-emails",
        "execute_tool account_of",
        "post footer",
    }
    assert all(one != other for one, other in pairwise(drawn))
