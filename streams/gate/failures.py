"""How a turn fails because of its processors."""

from __future__ import annotations

from processors.outcomes import Approved, Broken, Report
from streams.gate import entries
from topics.records import Phase as PhaseName


def broken(phase: PhaseName, outcome: Broken, reports: tuple[Report, ...] | None = None) -> entries.Failed:
    """Return how a turn fails whose processor in `phase` did; `reports` where they are more than the outcome's."""
    return entries.Failed(
        error="ProcessorFailedError",
        phase=phase,
        processor=outcome.processor,
        message=f"the {phase} processor failed ({outcome.error}): the turn ends here so that nothing passes unjudged",
        reports=outcome.reports if reports is None else reports,
    )


def contradiction(outcome: Approved) -> entries.Failed:
    """Return how a turn fails whose settled answer takes back what readers have.

    The last member that rewrote it is the one to look at.
    """
    changed = [report.processor for report in outcome.reports if report.verdict == "replace"]
    suspects = changed or [report.processor for report in outcome.reports]
    return entries.Failed(
        error="ProcessorFailedError",
        phase="output",
        processor=suspects[-1] if suspects else None,
        message="the settled answer contradicts text that was already released: "
        "widen lookback_chars, or drop `incremental` from this processor",
        reports=outcome.reports,
    )
