"""Promises 1 and 2 for random programs of turns: steps, tools, rules, failures, cancels, deaths and changed chains."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from processors import Deps
from tests.memory.simtime import simulate
from tests.streams.turns.programs import DIGIT, REDACTING, declarations, programs
from tests.streams.turns.simulation import Scenario, Seen, run, run_with_a_sleeper
from tests.streams.turns.test_crashes import assert_same
from topics import codec, names
from topics.records import TurnRequest

redacting = st.sampled_from(REDACTING)


def contents(copies: Any) -> list[Any]:
    """Return what records say, but for the times in them."""
    return sorted(
        json.dumps({name: value for name, value in json.loads(raw).items() if name not in ("at", "deadline_at")})
        for raw in copies
    )


def assert_same_records(seen: Seen, expected: Seen) -> None:
    """Check that what was asked of models and tools, and what was counted, is the same to the letter."""
    for mine, theirs in ((seen.usage, expected.usage), (seen.prompts, expected.prompts), (seen.calls, expected.calls)):
        for key, copies in theirs.items():
            assert contents(mine[key]) == contents(copies), key  # type: ignore[index]  # both have the same keys


def assert_remembered(seen: Seen) -> None:
    """Check that threads remember each turn once, with the reply that its reader got, and of failed ones no reply."""
    for thread, said in seen.transcripts.items():
        assert len({entry.turn_id for entry in said}) == len(said)
        for entry in said:
            view = seen.views[f"{thread}/{entry.turn_id}"]
            assert view.terminal is not None
            assert entry.outcome == view.terminal.kind
            reply = "".join(str(one.content or "") for one in entry.messages if one.role == "assistant")
            assert reply == (view.reply if entry.answered else "")
    remembered = {f"{thread}/{entry.turn_id}" for thread, said in seen.transcripts.items() for entry in said}
    assert {
        key for key, outcome in seen.outcomes.items() if outcome in ("completed", "blocked", "rejected")
    } <= remembered


def assert_redacted(seen: Seen) -> None:
    """Check that no digit was ever released, by any worker."""
    for raw in seen.released:
        frame = codec.decode(raw, names.RELEASED)
        said = [getattr(frame, name, None) for name in ("text", "reply", "response")]
        assert not any(DIGIT.search(text) for text in said if text), frame.kind


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), program=programs())
def test_deaths_change_nothing_in_any_program(data: st.DataObject, program: Scenario) -> None:
    """Readers, threads, models, tools and those who count see what an undisturbed run would have shown."""
    expected = simulate(run(program))
    assert "open" not in expected.outcomes.values()
    cuts = data.draw(st.lists(st.integers(0, len(expected.boundaries) + 3), min_size=1, max_size=3), label="cuts")
    commits, compact, lagging = (data.draw(st.booleans(), label=name) for name in ("commits", "compact", "lagging"))
    # A slow producer delays the end of turns, and so changes what a cancel, or a turn that finds its thread busy, meets.
    lagging = (
        lagging and program.on_busy == "queue" and all(isinstance(one.record, TurnRequest) for one in program.said)
    )
    fate = Random(data.draw(st.integers(0, 99), label="fate"))
    seen = simulate(run(program, cuts, fate=fate, commits=commits, compact=compact, lagging=lagging))
    assert_same(seen, expected, f"died at {cuts}")
    assert_same_records(seen, expected)
    assert_remembered(seen)


def redacts(deps: Deps) -> bool:
    """Return whether the output chain lets no digit through."""
    return any(member.name.startswith("redact") for member in deps.output_processors)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data(), program=programs(), after=declarations(anew=True))
def test_a_changed_declaration_contradicts_nobody_and_leaks_nothing(
    data: st.DataObject, program: Scenario, after: Deps
) -> None:
    """From one death to the next everything may be declared differently: every turn ends, and digits stay hidden."""
    expected = simulate(run(program))
    cuts = data.draw(st.lists(st.integers(0, len(expected.boundaries) + 3), min_size=1, max_size=3), label="cuts")
    commits = data.draw(st.booleans(), label="commits")
    seen = simulate(run(program, cuts, redeclared=after, commits=commits))
    assert "open" not in seen.outcomes.values()
    assert_remembered(seen)
    if redacts(program.deps) and redacts(after):
        assert_redacted(seen)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(data=st.data(), program=programs(redacting), after=declarations(redacting, anew=True))
def test_a_sleeper_contradicts_nobody(data: st.DataObject, program: Scenario, after: Deps) -> None:
    """A worker that stands still, and goes on after its successor took over, publishes nothing that disagrees."""
    expected = simulate(run(program))
    boundary = data.draw(st.integers(2, len(expected.boundaries)), label="boundary")
    early, changes = data.draw(st.booleans(), label="early"), data.draw(st.booleans(), label="changes")
    after = after if changes else program.deps
    seen = simulate(run_with_a_sleeper(program, boundary, wakes_early=early, redeclared=after))
    assert "open" not in seen.outcomes.values()
    assert_redacted(seen)
    if not changes:
        assert_same(seen, expected, f"stood still at {boundary}")
        assert_same_records(seen, expected)
