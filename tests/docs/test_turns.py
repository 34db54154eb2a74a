"""`docs/turns.md` against the code: every phase in its order, and the records that each leaves."""

from __future__ import annotations

import re

from streams.gate.entries import SHAPES, StepEntry
from streams.gate.policy import Policy
from streams.gate.state import Phase
from streams.policies import MAX_STEPS
from streams.roles.turns import HISTORY
from streams.settings import Settings
from streams.turns.threads import ThreadSettings
from tests.docs.markdown import ROOT, code, sections

PAGE = ROOT / "docs" / "turns.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = sections(PAGE)["The order of everything"].rows


def test_every_phase_is_there_in_its_order() -> None:
    """The order of the code is that of the page."""
    assert [code(row["phase"]) for row in ROWS] == [phase.value for phase in Phase]


def test_every_journal_record_is_left_by_a_phase() -> None:
    """Spelt as the journal spells it."""
    named = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row["journal"])]
    spelt = {name: f"{name}:<step>" if issubclass(shape, StepEntry) else name for name, shape in SHAPES.items()}
    assert sorted(named) == sorted(spelt.values())


def test_the_figures_are_those_of_the_code() -> None:
    """Limits that the page tells, and settings that it names."""
    threads = ThreadSettings()
    assert f"`max_steps` of its agent, {MAX_STEPS} if" in TEXT
    assert f"the last {HISTORY.n} messages" in TEXT
    assert f"never more than {threads.max_told_bytes // 1024} KiB" in TEXT
    assert f"its last {threads.max_turns} turns in at most {threads.max_bytes // 1024**2} MiB" in TEXT
    assert Policy().max_record_bytes == 1024**2 // 2
    for name in (
        "max_attempts",
        "fallback_models",
        "on_retry",
        "max_retry_wait_s",
        "post_budget_s",
        "thread_retention_s",
    ):
        assert f"`{name}`" in TEXT
        assert name in Settings.model_fields
