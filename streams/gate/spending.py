"""Keeps what processors spent where what they said leads to nothing that would tell of it.

A prefix pass that released nothing, an answer that came too late, a prompt that became too long: the calls that processors
made for them are paid for all the same, and budgets count them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from processors.outcomes import Report
from streams.gate import entries, events
from streams.gate.entries import AnyEntry
from streams.gate.state import Turn


def with_spending(turn: Turn, event: events.Event, made: Sequence[AnyEntry]) -> Sequence[AnyEntry]:
    """Return the entries `made` of `event`, before them one with what was spent if none of them says so."""
    spent = tuple(report for report in _reports(event) if report.usage is not None)
    if not spent or turn.over or any(entry.spends for entry in made):
        return made
    return (entries.Spent(step=turn.step, reports=spent), *made)


def _reports(event: events.Event) -> Iterable[Report]:
    match event:
        case events.GovernanceDone() | events.PreDone() | events.InputDone() | events.PassDone() | events.PostDone():
            return event.outcome.reports
        case events.RulesDone():
            return [report for outcome in event.outcomes for report in outcome.reports]
        case _:
            return ()
