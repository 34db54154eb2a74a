"""What a journal record says was spent: by the call of a model, and by processors that asked models of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from processors.outcomes import Report
from streams.gate import entries
from streams.gate.costs import added, estimated
from streams.gate.prompts import model_of
from streams.gate.records import JournalRecord
from streams.gate.state import Turn
from topics.content import Usage
from topics.records import UsageRecord

CallEnd: TypeAlias = Literal["completed", "rejected", "failed", "cancelled"]

#: Verdicts of processors that came to none.
_FAILED = frozenset({"failed", "skipped"})


def of_call(
    turn: Turn, record: JournalRecord, outcome: CallEnd, usage: Usage | None = None, *, estimate: bool = False
) -> UsageRecord:
    """Return what the model call of `turn` cost that `record` ends; `usage` where it is not in the turn yet."""
    known = usage or turn.answer.usage
    return UsageRecord(
        **_ids(turn, record),
        id=_id(turn),
        model=model_of(turn),
        usage=known or known_or_estimated(turn, record),
        estimated=estimate or known is None,
        outcome=outcome,
    )


def known_or_estimated(turn: Turn, record: JournalRecord) -> Usage:
    """Return what the current model call of `turn` has cost once `record` is taken in."""
    entry = record.entry
    now = len(entry.text) + len(entry.refusal) if isinstance(entry, entries.Llm) else 0
    return turn.answer.usage or estimated(turn, now)


def of_processors(turn: Turn, record: JournalRecord) -> Iterator[UsageRecord]:
    """Yield what processors spent of whose runs `record` tells: one each, however often it was called for the record."""
    if not record.entry.spends:
        return
    reports: tuple[Report, ...] = getattr(record.entry, "reports", ())
    for name in dict.fromkeys(report.processor for report in reports if report.usage is not None):
        own = [report for report in reports if report.processor == name]
        usage = _sum(own)
        if usage is not None:
            yield UsageRecord(
                **_ids(turn, record),
                # A processor is called many times in an attempt: the record's number tells them apart.
                id=f"{_id(turn)}/{name}/{record.n}",
                processor=name,
                model=_model(own),
                usage=usage,
                outcome="failed" if own[-1].verdict in _FAILED else "completed",
            )


def _sum(reports: Iterable[Report]) -> Usage | None:
    whole: Usage | None = None
    for report in reports:
        whole = added(whole, report.usage)
    return whole


def _model(reports: Iterable[Report]) -> str | None:
    models = {report.model for report in reports if report.usage is not None}
    return models.pop() if len(models) == 1 else None


def _id(turn: Turn) -> str:
    return f"{turn.key}/{turn.step}/{turn.attempt}"


def _ids(turn: Turn, record: JournalRecord) -> dict[str, Any]:
    tenant, thread_id, turn_id = turn.key
    return {
        "tenant": tenant,
        "thread_id": thread_id,
        "turn_id": turn_id,
        "step": turn.step,
        "attempt": turn.attempt,
        "agent": turn.request.agent,
        "user_id": turn.user_id,
        "at": record.at,
    }
