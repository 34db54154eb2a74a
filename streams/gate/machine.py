"""Every transition of a turn. Nothing else changes a turn's state.

Theory of operation
-------------------
`decide(turn, event, now, policy)` looks at a turn and at what happened, and returns the journal entries that follow; it
changes nothing. `evolve(turn, record)` is the one place where state changes: the fold of the journal. `work(turn, policy)`
in `work` says what the turn waits for that somebody must do: run a chain. None keeps anything between calls, so a turn
that is rebuilt from its journal goes on exactly where it was: whatever was being done is simply asked for again.
The details are told where they belong: `arrivals` for frames, `judgements` for what chains say, `attempts` for calls that
failed, `steps` for tools, `spending` for what processors spend.

    QUEUED ─► GOVERNANCE* ─► PRE* ─► INPUT* ─► MODEL ─finish─► SETTLING* ─► POST* ─► ENDED ─Published─► CLOSED
                                       ▲       │  ▲               │
                                       │ retry ▼  │               ▼ the answer asks for tools
                                       │     WAITING*     RULES* ─► TOOLS
                                       └───────── next step ◄─────────┘

    (*) passed over where there is nothing to wait for. From any phase before ENDED: cancel, deadline, refusal, a broken
    chain, a failed model or a block lead to ENDED.

What may be released is decided here and nowhere else, in four ways:

* *live*: there is no output chain; text goes out as it arrives, up to the last safe boundary.
* *whole*: nothing goes out before the whole-answer pass.
* *scan*: every member of the chain reads the answer once and says what can no longer change; that goes out at once.
* *incremental*: a prefix pass lets out all but the last `window` code points of the chain's own output, if that extends
  what is already out; otherwise it lets out nothing. A pass that breaks is ignored: only the whole-answer pass counts.

The whole-answer pass settles the step. If its output does not start with what is out, the turn fails: text that readers
have can be added to, never taken back.

Two rules keep crashes harmless. An entry says all that its source said, so that acknowledging the source once the entry
is journaled loses nothing. And an entry that follows from another can be derived again from the state in between, so
that a journal which ends between them is a state like any other.

Nearly all that happens to a turn is that its answer grows by text and by nothing else. That goes a short way, at a third of
the cost: decided by `arrivals.grown`, told of by an entry that `entries.brings_text_alone` knows, folded at once. It never
leads elsewhere: what the short way does not know goes the long one, and tests hold the two to the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streams.gate import arrivals, attempts, entries, events, judgements, limits, steps
from streams.gate.answers import collect, release, with_text
from streams.gate.entries import AnyEntry
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.spending import with_spending
from streams.gate.state import Phase, Turn
from topics.content import ToolCall
from topics.records import Phase as PhaseName
from topics.records import TurnRequest

# -- the beginning --------------------------------------------------------------------------------------------------


def accept(
    request: TurnRequest,
    *,
    partition: int,
    order: int,
    now: float,
    policy: Policy,
    readable: bool = True,
    trace: str | None = None,
) -> entries.Accepted:
    """Return the entry that begins a turn; `order` is the request's offset."""
    allowed = min(request.deadline_s or policy.turn_timeout_s, policy.turn_timeout_s)
    return entries.Accepted(
        request=request,
        partition=partition,
        order=order,
        deadline_at=now + allowed,
        readable=readable,
        trace=trace,
    )


def begin(record: JournalRecord) -> Turn:
    """Return the state after a turn's first record.

    Raises:
        ValueError: the record is not an `accepted` one.
    """
    entry = record.entry
    if not isinstance(entry, entries.Accepted):
        raise ValueError(f"a turn begins with an accepted record, not {entry.checkpoint}")  # noqa: TRY004 - content
    return Turn(
        request=entry.request,
        partition=entry.partition,
        order=entry.order,
        accepted_at=record.at,
        deadline_at=entry.deadline_at,
        readable=entry.readable,
        trace=entry.trace,
        message=entry.request.message,
        progress_at=record.at,
        n=record.n + 1,
    )


# -- deciding -------------------------------------------------------------------------------------------------------


def decide(
    turn: Turn,
    event: events.Event,
    now: float,
    policy: Policy,
    scan: AnswerScan | None = None,
    *,
    afford: bool = True,
) -> Sequence[AnyEntry]:
    """Return the entries that follow from `event` at `now` (epoch seconds): none if it changes nothing.

    `scan` follows the turn's answer where the policy's mode is `scan`. `afford` says whether there are tokens left in the
    budgets that the turn draws on.
    """
    if isinstance(event, events.Frames) and turn.phase is Phase.MODEL:
        # Nearly every event: an answer grows. That begins no step and spends nothing, so the rest has no say in it.
        grown = arrivals.grown(turn, event, policy, scan)
        if grown:
            return grown
    made = _decide(turn, event, now, policy, scan, afford=afford)
    if any(_may_begin_step(entry) for entry in made):
        after = turn
        for n, entry in enumerate(made, turn.n):
            after = evolve(after, JournalRecord(n, now, -1, entry))
        begins = after.step != turn.step or (after.step == 0 and after.phase is Phase.MODEL)
        if begins and (end := steps.cannot_begin(turn, after, policy, afford=afford)) is not None:
            # In place of what led there: the step's prompt must not go out, not even to be cancelled.
            made = (end,)
    return with_spending(turn, event, made)


def _may_begin_step(entry: AnyEntry) -> bool:
    if isinstance(entry, entries.Llm | entries.OutputProcessed):
        return bool(entry.calls)
    return isinstance(entry, entries.Started | entries.PreProcessed | entries.CallsGoverned | entries.ToolsReturned)


def _decide(  # noqa: C901, PLR0911, PLR0912 - one row for each event
    turn: Turn, event: events.Event, now: float, policy: Policy, scan: AnswerScan | None, *, afford: bool
) -> Sequence[AnyEntry]:
    if isinstance(event, events.Published):
        return _published(turn, event)
    if turn.over:
        return ()
    match event:
        case events.Start() if turn.phase is Phase.QUEUED:
            return (_started(turn, policy),)
        case events.Rechain() if turn.begun:
            return (_rechained(policy),)
        case events.GovernanceDone() if turn.phase is Phase.GOVERNANCE:
            return (judgements.governance_done(turn, event, policy, afford=afford),)
        case events.PreDone() if turn.phase is Phase.PRE:
            return (judgements.pre_done(turn, event, policy),)
        case events.InputDone() if turn.phase is Phase.INPUT and event.step == turn.step:
            return (judgements.input_done(turn, event, policy),)
        case events.Frames() if turn.phase is Phase.MODEL:
            return arrivals.arrived(turn, event, now, policy, scan)
        case events.PassDone() if (event.step, event.attempt) == (turn.step, turn.attempt):
            return judgements.pass_done(turn, event, policy)
        case events.RulesDone() if turn.phase is Phase.RULES and event.step == turn.step:
            return (steps.rules_done(turn, event),)
        case events.ToolsAnswered() if turn.phase is Phase.TOOLS:
            return steps.answered(turn, event, policy)
        case events.PostDone() if turn.phase is Phase.POST:
            return (judgements.post_done(turn, event, policy),)
        case events.Cancel():
            return (entries.Cancelled(),)
        case events.Refuse():
            return (entries.Failed(error=event.error, message=event.message),)
        case events.Tick():
            return _overdue(turn, now, event.listening_since, policy)
        case _:
            return ()


def _published(turn: Turn, event: events.Published) -> Sequence[AnyEntry]:
    if turn.phase is not Phase.ENDED or turn.terminal_n is None or event.offset is None:
        return ()
    if event.n < turn.terminal_n or turn.outcome is None:
        return ()
    return (entries.Closed(outcome=turn.outcome, partition=turn.partition, offset=event.offset),)


def _started(turn: Turn, policy: Policy) -> AnyEntry:
    if not turn.readable:
        # Only a crash between its two first records leaves such a turn to be started.
        return entries.Failed(error="InvalidRequestError", message="the request could not be read: see dead-letters")
    persona = policy.default_persona
    if policy.personas:
        persona = policy.personas.get(turn.request.agent)
        if persona is None:
            message = "there is no such agent: name one of those that the operator has declared"
            return entries.Failed(error="InvalidRequestError", message=message)
    return entries.Started(
        governance=policy.has_governance,
        pre=policy.has_pre,
        input=policy.has_input,
        rules=policy.has_rules,
        post=policy.has_post,
        carry=policy.carry and policy.mode != "live",
        chain=policy.chain,
        persona=persona,
        told=len(turn.history),
        pin=policy.pin,
    )


def _rechained(policy: Policy) -> AnyEntry:
    return entries.Rechained(
        governance=policy.has_governance,
        pre=policy.has_pre,
        input=policy.has_input,
        rules=policy.has_rules,
        post=policy.has_post,
        chain=policy.chain,
        pin=policy.pin,
    )


def _overdue(turn: Turn, now: float, listening_since: float, policy: Policy) -> Sequence[AnyEntry]:
    if now < wake_at(turn, policy, listening_since):
        return ()
    if now < turn.deadline_at:
        match turn.phase:
            case Phase.WAITING:
                return (entries.Retried(step=turn.step, attempt=turn.attempt),)
            case Phase.TOOLS:
                return (steps.timed_out(turn),)
            case Phase.POST:
                return (judgements.post_late(),)
            case _:
                pass
    gap = turn.answer.gap_since
    if turn.phase is Phase.MODEL and gap is not None and now >= max(gap, listening_since) + policy.gap_timeout_s:
        return (limits.gap_failure(turn.answer),)
    return (
        entries.Failed(
            error="TurnTimeoutError",
            phase=_PHASE_NAMES.get(turn.phase),
            message="the turn took longer than it may: submit the message as a new turn to try again",
        ),
    )


def wake_at(turn: Turn, policy: Policy, listening_since: float = 0.0) -> float:
    """Return the time (epoch seconds) from which a `Tick` would change this turn, at the latest its deadline.

    The deadline is absolute. A silent model, a missing frame and a tool are waited for anew from `listening_since`: what
    they wrote while nobody listened is still to be read.
    """
    due = turn.deadline_at
    match turn.phase:
        case Phase.MODEL:
            due = min(due, max(turn.progress_at, listening_since) + policy.idle_timeout_s)
            if turn.answer.gap_since is not None:
                due = min(due, max(turn.answer.gap_since, listening_since) + policy.gap_timeout_s)
        case Phase.WAITING:
            due = min(due, turn.attempts.retry_at or 0.0)
        case Phase.TOOLS:
            due = min(due, max(turn.progress_at, listening_since) + steps.patience_s(turn, steps.pending(turn)))
        case Phase.POST if turn.request.delivery == "stream":
            due = min(due, turn.progress_at + policy.post_budget_s)
        case _:
            pass
    return due


# -- evolving -------------------------------------------------------------------------------------------------------


def evolve(turn: Turn, record: JournalRecord) -> Turn:  # noqa: C901, PLR0911, PLR0912 - one row for each entry
    """Return the state after `record`, which must be the turn's next one.

    Raises:
        ValueError: records were skipped or come twice.
    """
    if record.n != turn.n:
        raise ValueError(f"journal record {record.n} where {turn.n} is next")
    confirmed = max(turn.confirmed, record.confirmed)
    entry = record.entry
    if entries.brings_text_alone(entry) and not turn.answer.early:
        # What `_evolve_llm` comes to, in one copy of the state.
        return turn.grown(record.n + 1, confirmed, with_text(turn.answer, entry), record.at)
    turn = turn.with_(n=record.n + 1, confirmed=confirmed)
    match entry:
        case entries.Started():
            return _begin_with(turn.with_(begun=True, started=entry, progress_at=record.at, prompt=None), Phase.QUEUED)
        case entries.Rechained():
            pinned = {name: getattr(entry, name) for name in type(entry).model_fields}
            return turn.with_(started=turn.started.model_copy(update=pinned), chain_changed=True)
        case entries.PreProcessed():  # and `Governed`, which is one too
            return _evolve_seen(turn, entry, record)
        case entries.InputProcessed():
            return turn.with_(phase=Phase.MODEL, prompt=entry.prompt, progress_at=record.at)
        case entries.Llm():
            return _evolve_llm(turn, entry, record)
        case entries.Retried():
            again = replace(turn.attempts, retry_at=None)
            return turn.with_(phase=Phase.MODEL, attempts=again, progress_at=record.at)
        case entries.OutputProcessed():
            return _evolve_output(turn, entry, record)
        case entries.CallsGoverned():
            return steps.tools_answered(turn.with_(progress_at=record.at), entry.denied, record.at)
        case entries.ToolsReturned():
            return steps.tools_answered(turn, entry.results, record.at)
        case entries.PostProcessed():
            if entry.rejected is not None:
                return _end(turn, record, "rejected")
            if entry.blocked_by is not None:
                return _end(turn.with_(reply=entry.response), record, "blocked")
            return _end(turn.with_(reply=entry.text), record, "completed")
        case entries.Spent():
            return turn
        case entries.Failed():
            return _end(turn, record, "failed")
        case entries.Cancelled():
            return _end(turn, record, "cancelled")
        case entries.Closed():
            return turn.with_(phase=Phase.CLOSED, closed_at=(entry.partition, entry.offset), confirmed=record.n)
        case entries.Accepted():
            raise ValueError("a turn is accepted once")


def _begin_with(turn: Turn, done: Phase) -> Turn:
    """Return `turn` in the first phase after `done` that was declared when it started."""
    started = turn.started
    if started.governance and done is Phase.QUEUED:
        return turn.with_(phase=Phase.GOVERNANCE)
    if started.pre and done in (Phase.QUEUED, Phase.GOVERNANCE):
        return turn.with_(phase=Phase.PRE)
    return turn.with_(phase=Phase.INPUT if started.input else Phase.MODEL)


def _evolve_seen(turn: Turn, entry: entries.PreProcessed, record: JournalRecord) -> Turn:
    turn = turn.with_(message=entry.message or turn.message, metadata=entry.metadata, progress_at=record.at)
    if entry.blocked_by is not None:
        return _end(turn.with_(reply=entry.response), record, "blocked")
    return _begin_with(turn, Phase.GOVERNANCE if isinstance(entry, entries.Governed) else Phase.PRE)


def _evolve_llm(turn: Turn, entry: entries.Llm, record: JournalRecord) -> Turn:
    answer = collect(turn.answer, entry)
    progressed = entry.seq is not None
    gap = answer.gap_since
    if not answer.early:
        gap = None
    elif gap is None or answer.next_seq != turn.answer.next_seq:
        # Another frame is missing now than before, if one was.
        gap = record.at
    answer = answer if gap is answer.gap_since else answer.with_(gap_since=gap)
    turn = turn.with_(answer=answer, progress_at=record.at if progressed else turn.progress_at)
    if entry.rejected is not None:
        return _end(turn, record, "rejected")
    if entry.failed is not None:
        return _evolve_failed(turn, entry.failed, record)
    if entry.settled:
        if entry.live is None and turn.answer.verbatim:
            # With `final` delivery nothing goes out before the end, and then all of it does.
            turn = turn.with_(answer=turn.answer.with_(released=turn.answer.text))
        return _settled(turn, entry.calls, record)
    return turn.with_(phase=Phase.SETTLING) if answer.finish_reason is not None else turn


def _evolve_failed(turn: Turn, failure: entries.CallFailure, record: JournalRecord) -> Turn:
    if not failure.retry:
        return _end(turn, record, "failed")
    return turn.with_(
        phase=Phase.MODEL if failure.retry_at is None else Phase.WAITING,
        attempt=turn.attempt + 1,
        attempts=attempts.after(turn.attempts, failure),
        answer=turn.fresh_answer(),
        progress_at=record.at,
    )


def _evolve_output(turn: Turn, entry: entries.OutputProcessed, record: JournalRecord) -> Turn:
    if entry.rejected is not None:
        return _end(turn, record, "rejected")
    turn = turn.with_(answer=release(turn.answer, entry.tail))
    if not entry.final:
        return turn
    turn = turn.with_(answer=turn.answer.with_(tool_calls=entry.tool_calls, refusal=entry.refusal))
    return _settled(turn, entry.calls, record)


def _settled(turn: Turn, calls: tuple[ToolCall, ...], record: JournalRecord) -> Turn:
    """Return `turn`, the current step's text of which is final, in the phase that follows."""
    if calls:
        return steps.step_over(turn, calls, record.at)
    # A caller who runs the tools has no reply yet.
    if turn.started.post and not (turn.stateless and turn.answer.tool_calls):
        return turn.with_(phase=Phase.POST, progress_at=record.at)
    return _end(turn, record, "completed")


def _end(turn: Turn, record: JournalRecord, outcome: str) -> Turn:
    return turn.with_(phase=Phase.ENDED, terminal_n=record.n, outcome=outcome, progress_at=record.at)


_PHASE_NAMES: dict[Phase, PhaseName] = {
    Phase.GOVERNANCE: "governance",
    Phase.PRE: "pre",
    Phase.INPUT: "input",
    Phase.MODEL: "model",
    Phase.WAITING: "model",
    Phase.SETTLING: "output",
    Phase.RULES: "governance",
    Phase.TOOLS: "tools",
    Phase.POST: "post",
}
