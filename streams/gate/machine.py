"""Every transition of a turn. Nothing else changes a turn's state.

Theory of operation
-------------------
`decide(turn, event, now, policy)` looks at a turn and at what happened, and returns the journal entries that follow;
it changes nothing (`arrivals` knows the details for frames, `judgements` for what chains say). `evolve(turn, record)` is
the one place where state changes: the fold of the journal. `work(turn, policy)` says what the turn waits for that somebody
must do: run a chain. None keeps anything between calls, so a turn that is rebuilt from its journal goes on exactly where
it was: whatever was being done is simply asked for again.

    QUEUED ─Start─► PRE ─PreDone─► INPUT ─InputDone─► MODEL ─finish─► SETTLING ─PassDone─► ENDED ─Published─► CLOSED
       │           (*)            (*)                 │  ▲           (*)
       │                                              └──┘ retry: a new attempt
       └── from any phase before ENDED: cancel, deadline, refusal, broken chain, failed model ──► ENDED

    (*) passed over where no such chain is declared

What may be released is decided here and nowhere else, in four ways (design §5):

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from streams.gate import arrivals, entries, events, judgements, limits
from streams.gate.answers import collect, release
from streams.gate.entries import AnyEntry
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Answer, Phase, Turn
from topics.records import Phase as PhaseName
from topics.records import TurnRequest

# -- the beginning --------------------------------------------------------------------------------------------------


def accept(
    request: TurnRequest, *, partition: int, order: int, now: float, policy: Policy, readable: bool = True
) -> entries.Accepted:
    """Return the entry that begins a turn; `order` is the request's offset."""
    allowed = min(request.deadline_s or policy.turn_timeout_s, policy.turn_timeout_s)
    return entries.Accepted(
        request=request, partition=partition, order=order, deadline_at=now + allowed, readable=readable
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
        message=entry.request.message,
        progress_at=record.at,
        n=record.n + 1,
    )


# -- deciding -------------------------------------------------------------------------------------------------------


def decide(
    turn: Turn, event: events.Event, now: float, policy: Policy, scan: AnswerScan | None = None
) -> Sequence[AnyEntry]:
    """Return the entries that follow from `event` at `now` (epoch seconds): none if it changes nothing.

    `scan` follows the turn's answer where the policy's mode is `scan`.
    """
    if isinstance(event, events.Published):
        return _published(turn, event)
    if turn.over:
        return ()
    match event:
        case events.Start() if turn.phase is Phase.QUEUED:
            return (_started(turn, policy),)
        case events.PreDone() if turn.phase is Phase.PRE:
            return (judgements.pre_done(turn, event, policy),)
        case events.InputDone() if turn.phase is Phase.INPUT and event.step == turn.step:
            return (judgements.input_done(turn, event, policy),)
        case events.Frames() if turn.phase is Phase.MODEL:
            return arrivals.arrived(turn, event, policy, scan)
        case events.PassDone() if (event.step, event.attempt) == (turn.step, turn.attempt):
            return judgements.pass_done(turn, event, policy)
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
    return entries.Started(pre=policy.has_pre, input=policy.has_input, chain=policy.chain)


def _overdue(turn: Turn, now: float, listening_since: float, policy: Policy) -> Sequence[AnyEntry]:
    if now < wake_at(turn, policy, listening_since):
        return ()
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
    """Return the time (epoch seconds) from which a `Tick` would end this turn.

    The deadline is absolute. A silent model and a missing frame are waited for anew from `listening_since`: what they
    wrote while nobody listened is still to be read.
    """
    due = turn.deadline_at
    if turn.phase is Phase.MODEL:
        due = min(due, max(turn.progress_at, listening_since) + policy.idle_timeout_s)
        if turn.answer.gap_since is not None:
            due = min(due, max(turn.answer.gap_since, listening_since) + policy.gap_timeout_s)
    return due


# -- evolving -------------------------------------------------------------------------------------------------------


def evolve(turn: Turn, record: JournalRecord) -> Turn:
    """Return the state after `record`, which must be the turn's next one.

    Raises:
        ValueError: records were skipped or come twice.
    """
    if record.n != turn.n:
        raise ValueError(f"journal record {record.n} where {turn.n} is next")
    confirmed = max(turn.confirmed, record.confirmed)
    turn = turn.with_(n=record.n + 1, confirmed=confirmed)
    entry = record.entry
    match entry:
        case entries.Started():
            phase = Phase.PRE if entry.pre else Phase.INPUT if entry.input else Phase.MODEL
            return turn.with_(phase=phase, has_input=entry.input, chain=entry.chain, progress_at=record.at, prompt=None)
        case entries.PreProcessed():
            return _evolve_pre(turn, entry, record)
        case entries.InputProcessed():
            return turn.with_(phase=Phase.MODEL, prompt=entry.prompt, progress_at=record.at)
        case entries.Llm():
            return _evolve_llm(turn, entry, record)
        case entries.OutputProcessed():
            if entry.rejected is not None:
                return _end(turn, record, "rejected")
            answer = release(turn.answer, entry.tail)
            turn = turn.with_(answer=answer)
            return _end(turn, record, "completed") if entry.final else turn
        case entries.Failed():
            return _end(turn, record, "failed")
        case entries.Cancelled():
            return _end(turn, record, "cancelled")
        case entries.Closed():
            return turn.with_(phase=Phase.CLOSED, closed_at=(entry.partition, entry.offset), confirmed=record.n)
        case entries.Accepted():
            raise ValueError("a turn is accepted once")


def _evolve_pre(turn: Turn, entry: entries.PreProcessed, record: JournalRecord) -> Turn:
    turn = turn.with_(message=entry.message or turn.message, metadata=entry.metadata, progress_at=record.at)
    if entry.blocked_by is not None:
        return _end(turn, record, "blocked")
    return turn.with_(phase=Phase.INPUT if turn.has_input else Phase.MODEL)


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
        if entry.failed.retry:
            return turn.with_(attempt=turn.attempt + 1, answer=Answer(), progress_at=record.at)
        return _end(turn, record, "failed")
    if entry.settled:
        return _end(turn, record, "completed")
    return turn.with_(phase=Phase.SETTLING) if answer.finish_reason is not None else turn


def _end(turn: Turn, record: JournalRecord, outcome: str) -> Turn:
    return turn.with_(phase=Phase.ENDED, terminal_n=record.n, outcome=outcome)


# -- work -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunPre:
    """Run the pre-processors on the turn's message."""


@dataclass(frozen=True, slots=True)
class RunInput:
    """Run the input chain for `step`."""

    step: int


@dataclass(frozen=True, slots=True)
class RunOutput:
    """Run the output chain on the first `upto` code points of the attempt's buffer: on all of it if `final`."""

    step: int
    attempt: int
    upto: int
    final: bool


Work: TypeAlias = RunPre | RunInput | RunOutput


def work(turn: Turn, policy: Policy) -> Work | None:
    """Return the chain run that `turn` waits for, if any. Equal work is the same work: doing it once is enough."""
    match turn.phase:
        case Phase.PRE:
            return RunPre()
        case Phase.INPUT:
            return RunInput(turn.step)
        case Phase.SETTLING:
            return RunOutput(turn.step, turn.attempt, len(turn.buffer), final=True)
        case Phase.MODEL if policy.mode == "incremental" and turn.buffer and turn.request.delivery == "stream":
            return RunOutput(turn.step, turn.attempt, len(turn.buffer), final=False)
        case _:
            return None


_PHASE_NAMES: dict[Phase, PhaseName] = {
    Phase.PRE: "pre",
    Phase.INPUT: "input",
    Phase.MODEL: "model",
    Phase.SETTLING: "output",
}
