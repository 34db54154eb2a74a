"""Model calls that failed: whether another follows, when, and of which model."""

from __future__ import annotations

from typing import Any

import pytest

from streams.gate import entries, events, machine
from streams.gate.frames import INTERRUPTED
from streams.gate.policy import Policy
from streams.gate.state import Phase
from tests.streams.gate.play import START, Play, frame
from topics.records import CancelCall, FailedFrame, ModelError, PromptRequest, ResetFrame, UsageRecord

DOWN = ModelError(type="APIConnectionError", retryable=True)
WRONG = ModelError(type="NotFoundError", retryable=False)


def busy(wait_s: float) -> ModelError:
    """Return the failure of a provider that asks for patience."""
    return ModelError(type="RateLimitError", retryable=True, retry_after_s=wait_s)


def failed(*errors: ModelError, **policy: Any) -> Play:
    """Return a turn whose attempts failed one after the other, each when it was due."""
    play = Play(Policy(**policy), model="first").start()
    now = START
    for error in errors:
        play.frames(frame(None, error=error, attempt=play.turn.attempt), now=now)
        if play.phase is Phase.WAITING:
            now = machine.wake_at(play.turn, play.policy)
            play.happen(events.Tick(), now)
    return play


def asked(play: Play) -> list[tuple[int, str | None]]:
    """Return the attempts that were asked for, and of which model."""
    return [(prompt.attempt, prompt.model) for prompt in play.of(PromptRequest)]


@pytest.mark.parametrize(
    ("errors", "policy", "expected"),
    [
        ([DOWN], {}, [(0, "first"), (1, "first")]),
        ([DOWN, DOWN], {}, [(0, "first"), (1, "first")]),
        ([WRONG], {}, [(0, "first")]),
        ([DOWN], {"max_attempts": 1}, [(0, "first")]),
        ([DOWN, DOWN, DOWN], {"fallback_models": ("b",)}, [(0, "first"), (1, "first"), (2, "b"), (3, "b")]),
        ([WRONG, WRONG], {"fallback_models": ("b", "c")}, [(0, "first"), (1, "b"), (2, "c")]),
        ([WRONG, DOWN, WRONG], {"fallback_models": ("b",)}, [(0, "first"), (1, "b"), (2, "b")]),
        ([busy(1.0)], {"fallback_models": ("b",)}, [(0, "first"), (1, "first")]),
        ([busy(5.0)], {"fallback_models": ("b",)}, [(0, "first"), (1, "b")]),
        ([busy(5.0)], {}, [(0, "first"), (1, "first")]),
        ([busy(31.0)], {}, [(0, "first")]),
        ([busy(5.0)], {"turn_timeout_s": 4.0}, [(0, "first")]),
    ],
)
def test_one_policy_says_who_is_asked_next(
    errors: list[ModelError], policy: dict[str, Any], expected: list[tuple[int, str | None]]
) -> None:
    """Each model as often as it may be, the fallbacks in order, and nobody beyond the turn's deadline."""
    play = failed(*errors, **policy)
    assert asked(play) == expected
    assert len(play.of(FailedFrame)) == (len(errors) >= len(expected))
    usage = play.of(UsageRecord)
    assert [(one.attempt, one.model, one.outcome) for one in usage] == [
        (attempt, model, "failed") for attempt, model in expected[: len(errors)]
    ]


def test_a_call_that_was_only_interrupted_does_not_count() -> None:
    """Runners come and go without using up the model's chances; but not for ever, and not where one call is the rule."""
    gone = ModelError(type=INTERRUPTED, retryable=True)
    play = failed(*[gone] * 5, DOWN)
    assert asked(play) == [(attempt, "first") for attempt in range(7)]
    assert [prompt.retry for prompt in play.of(PromptRequest)] == [False] * 6 + [True]
    play.frames(frame(None, error=gone, attempt=6))
    assert play.turn.outcome == "failed"
    assert failed(*[gone] * 7).turn.outcome == "failed"
    assert failed(gone, max_attempts=1).turn.outcome == "failed"


def test_a_provider_gets_the_time_it_asks_for() -> None:
    """Nothing is asked before it; the wait is journaled, so a worker that takes over waits for the same moment."""
    play = Play().start()
    play.frames(frame(None, error=busy(7.0)))
    assert (play.phase, play.turn.attempt, len(play.of(PromptRequest))) == (Phase.WAITING, 1, 1)
    assert play.happen(events.Tick(), START + 6.9) == []
    heir = Play.resumed(play.records, play.policy)
    assert machine.wake_at(heir.turn, heir.policy) == START + 7.0
    (entry,) = heir.happen(events.Tick(), START + 7.0)
    assert isinstance(entry, entries.Retried)
    assert heir.of(PromptRequest)[-1].attempt == 1
    assert heir.phase is Phase.MODEL


def test_nobody_is_called_off_while_nobody_is_called() -> None:
    """A turn that is cancelled while it waits has no call to stop, and no more to pay."""
    play = Play().start()
    play.frames(frame(None, error=busy(7.0)))
    paid = len(play.of(UsageRecord))
    play.happen(events.Cancel())
    assert play.of(CancelCall) == []
    assert len(play.of(UsageRecord)) == paid
    assert play.turn.outcome == "cancelled"


def test_text_that_is_out_is_taken_back_before_the_next_attempt_or_the_turn_fails() -> None:
    """As the operator decides; a fallback is no exception."""
    reset = Play(Policy(fallback_models=("b",))).start().text("half an answer")
    reset.frames(frame(1, error=WRONG))
    assert [one.attempt for one in reset.of(ResetFrame)] == [1]
    assert asked(reset) == [(0, None), (1, "b")]
    fails = Play(Policy(fallback_models=("b",), on_retry="fail")).start().text("half an answer")
    fails.frames(frame(1, error=WRONG))
    assert asked(fails) == [(0, None)]
    assert [end.error for end in fails.of(FailedFrame)] == ["ModelFailedError"]
