"""What `turngate send` says of frames."""

from __future__ import annotations

from typing import Any

import pytest

from streams.cli.work.frames import remedy
from topics.records import CompletedFrame, FailedFrame

TURN: dict[str, Any] = {"tenant": "acme", "thread_id": "t", "turn_id": "1", "step": 0, "attempt": 0, "offset": 0}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("ModelNotConfiguredError", "--script"),
        ("ScriptDisabledError", "--model script"),
        ("Overloaded", None),
    ],
)
def test_a_pipeline_that_was_started_otherwise_is_said_how_to_start(error: str, words: str | None) -> None:
    """Of other failures the runner's log knows more."""
    message = f"the model call failed ({error}): the model runner's log says why"
    found = remedy(FailedFrame(**TURN, error="ModelFailedError", message=message, phase="model"))
    assert found is None if words is None else words in (found or "")


def test_a_turn_that_went_well_needs_none() -> None:
    """Whatever its text says."""
    assert remedy(CompletedFrame(**TURN, reply="(ScriptDisabledError)", length=21, finish_reason="stop")) is None
