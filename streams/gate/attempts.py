"""Whether a failed model call is made again, when, and of which model: one policy, in one place.

The model asked for is tried `max_attempts` times as long as its failures may pass; then, or at once when they will not,
the next of the fallback models takes its place. What a provider asks for with `Retry-After` is waited for, unless a
fallback could answer meanwhile. Text that is out is dropped by a `reset` before the next attempt, where that is allowed.

A call that ended because its runner went away says nothing about the model: up to `MAX_INTERRUPTIONS` of them in a step are
made again without being counted, unless the operator wants one call and no more.
"""

from __future__ import annotations

from dataclasses import replace

from streams.gate import entries
from streams.gate.frames import INTERRUPTED
from streams.gate.policy import Policy
from streams.gate.state import Attempts, Turn
from topics.records import ModelError

#: Runners that come and go, as in a rolling restart of several of them, interrupt a call this often and no more.
MAX_INTERRUPTIONS = 5
#: The longest name of a failure that is journaled.
_MAX_ERROR_CHARS = 200
#: A provider that asks for so much patience, in seconds, gets it even where another model could answer.
_SHORT_WAIT_S = 2.0


def attempt_failed(turn: Turn, error: ModelError, now: float, policy: Policy) -> entries.Llm:
    """Return the entry for a model call that ended with `error` at `now` (epoch seconds)."""
    keeps = not turn.released_offset or policy.on_retry == "reset"
    kind = error.type[:_MAX_ERROR_CHARS]
    failure = (_next(turn, error, kind, now, policy) if keeps else None) or entries.CallFailure(error=kind, retry=False)
    return entries.Llm(step=turn.step, attempt=turn.attempt, failed=failure)


def _next(turn: Turn, error: ModelError, kind: str, now: float, policy: Policy) -> entries.CallFailure | None:
    attempts = turn.attempts
    if _is_only_interrupted(attempts, kind) and policy.max_attempts > 1:
        return entries.CallFailure(error=kind, retry=True)
    wait_s = error.retry_after_s or 0.0
    left = policy.fallback_models[attempts.fallbacks :]
    patient = wait_s <= (_SHORT_WAIT_S if left else policy.max_retry_wait_s) and now + wait_s < turn.deadline_at
    if error.retryable and attempts.tries + 1 < policy.max_attempts and patient:
        return entries.CallFailure(error=kind, retry=True, retry_at=now + wait_s if wait_s else None)
    return entries.CallFailure(error=kind, retry=True, fallback=left[0]) if left else None


def after(attempts: Attempts, failure: entries.CallFailure) -> Attempts:
    """Return the count of attempts after one that failed and is followed by another."""
    if failure.fallback is not None:
        return replace(attempts, tries=0, fallbacks=attempts.fallbacks + 1, model=failure.fallback)
    if _is_only_interrupted(attempts, failure.error):
        return replace(attempts, interruptions=attempts.interruptions + 1)
    return replace(attempts, tries=attempts.tries + 1, retry_at=failure.retry_at)


def _is_only_interrupted(attempts: Attempts, kind: str) -> bool:
    return kind == INTERRUPTED and attempts.interruptions < MAX_INTERRUPTIONS
