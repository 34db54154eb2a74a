"""What is recorded of each processor's part in a turn."""

from __future__ import annotations

from processors.outcomes import Report
from streams.gate.state import Turn
from topics.records import Decision, Phase


def decision_of(turn: Turn, phase: Phase, report: Report, at: float) -> Decision:
    """Return the record of what one processor did to `turn` in `phase`, journaled at `at` (epoch seconds)."""
    tenant, thread_id, turn_id = turn.key
    return Decision(
        tenant=tenant,
        thread_id=thread_id,
        turn_id=turn_id,
        step=turn.step,
        attempt=turn.attempt,
        phase=phase,
        processor=report.processor,
        version=report.version,
        verdict=report.verdict,
        changes=report.changes,
        time_ms=report.time_ms,
        error=report.error,
        reason=report.reason,
        metadata=report.metadata,
        at=at,
    )
