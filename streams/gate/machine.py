"""Every transition of a turn. Nothing else changes a turn's state.

Theory of operation
-------------------
`decide(turn, event, now, policy)` looks at a turn and at what happened, and returns the journal entries that follow;
it changes nothing. `evolve(turn, record)` is the one place where state changes: the fold of the journal. `work(turn,
policy)` says what the turn waits for that somebody must do: run a chain. None keeps anything between calls, so a turn
that is rebuilt from its journal goes on exactly where it was: whatever was being done is simply asked for again.

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

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import orjson

from processors.outcomes import Approved, Blocked, Broken, Derived, Proceeded, Refused
from streams.gate import entries, events, frames
from streams.gate.entries import AnyEntry
from streams.gate.graphemes import safe_length
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.release import pieces, releasable
from streams.gate.scan import AnswerScan
from streams.gate.state import Answer, Phase, Turn
from topics.content import Prompt, ToolCall
from topics.records import ModelError, TurnRequest
from topics.records import Phase as PhaseName

_MAX_JSON_BYTES_PER_CHAR = 6
#: What the JSON of a tool call takes beside its texts.
_JSON_BYTES_PER_CALL = 40

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
            return (_pre_done(turn, event, policy),)
        case events.InputDone() if turn.phase is Phase.INPUT and event.step == turn.step:
            return (_input_done(turn, event, policy),)
        case events.Frames() if turn.phase is Phase.MODEL:
            return _arrived(turn, event, policy, scan)
        case events.PassDone() if (event.step, event.attempt) == (turn.step, turn.attempt):
            return _pass_done(turn, event, policy)
        case events.Cancel():
            return (entries.Cancelled(),)
        case events.Refuse():
            return (entries.Failed(error=event.error, message=event.message),)
        case events.Tick():
            return _overdue(turn, now, policy)
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


def _pre_done(turn: Turn, event: events.PreDone, policy: Policy) -> AnyEntry:
    match event.outcome:
        case Proceeded(message=message, metadata=metadata, reports=reports):
            changed = message if message != turn.message else None
            if changed is not None:
                too_long = _prompt_too_long(turn, turn.with_(message=changed).base_prompt(), "pre", policy)
                if too_long is not None:
                    return too_long
            return entries.PreProcessed(message=changed, metadata=metadata, reports=reports)
        case Blocked(processor=processor, response=response, metadata=metadata, reports=reports):
            default = policy.channel_defaults.get(turn.request.channel, policy.default_reply)
            return entries.PreProcessed(
                metadata=metadata, blocked_by=processor, response=response or default, reports=reports
            )
        case Broken() as broken:
            return _broken("pre", broken)


def _input_done(turn: Turn, event: events.InputDone, policy: Policy) -> AnyEntry:
    match event.outcome:
        case Derived(prompt=prompt, reports=reports):
            return _prompt_too_long(turn, prompt, "input", policy) or entries.InputProcessed(
                step=turn.step, prompt=prompt, reports=reports
            )
        case Broken() as broken:
            return _broken("input", broken)


def _prompt_too_long(turn: Turn, prompt: Prompt, phase: PhaseName, policy: Policy) -> entries.Failed | None:
    if _prompt_bytes(turn, prompt) <= policy.max_prompt_bytes:
        return None
    return entries.Failed(
        error="InvalidRequestError",
        phase=phase,
        message=f"the prompt is longer than {policy.max_prompt_bytes} bytes: shorten the history or the message",
    )


def _prompt_bytes(turn: Turn, prompt: Prompt) -> int:
    """How large the record with the prompt gets, as far as it depends on the turn: the request's tools ride along."""
    asked = turn.request.model_dump(mode="json", include={"tools", "params"}, exclude_none=True)
    whole = {**asked, "prompt": prompt.model_dump(mode="json", exclude_none=True)}
    return len(json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))


def _arrived(turn: Turn, event: events.Frames, policy: Policy, scan: AnswerScan | None) -> Sequence[AnyEntry]:
    current = [frame for frame in event.frames if (frame.step, frame.attempt) == (turn.step, turn.attempt)]
    if not current:
        return ()
    arrival = frames.plan(turn.answer, current, step=turn.step, attempt=turn.attempt, max_bytes=policy.max_record_bytes)
    if arrival.error is not None:
        return (*arrival.entries, _attempt_failed(turn, arrival.error, policy))
    made: list[AnyEntry] = []
    answer = turn.answer
    for entry in arrival.entries:
        for gated in _gated(turn, answer, entry, policy, scan):
            made.append(gated)
            answer = _collect(answer, gated)
    too_much = _too_much(answer, policy)
    return (too_much,) if too_much is not None else made


def _gated(
    turn: Turn, answer: Answer, entry: entries.Llm, policy: Policy, scan: AnswerScan | None
) -> Sequence[entries.Llm]:
    """Return `entry` with what goes out at once, if the answer is gated in a way that needs no pass."""
    if policy.mode == "live":
        return _live(turn, answer, entry, policy)
    if scan is None or entry.seq is None or turn.request.delivery == "final":
        return (entry,)
    release = scan.release(answer, entry.text)
    if not release or len(entry.text) + len(release) <= policy.max_record_bytes // _MAX_JSON_BYTES_PER_CHAR:
        return (entry.model_copy(update={"release": release}),)
    return (entry, *_releases(turn, release, policy))


def _releases(turn: Turn, text: str, policy: Policy) -> list[entries.Llm]:
    """Return `text` as releases in records of their own."""
    return [
        entries.Llm(step=turn.step, attempt=turn.attempt, release=piece)
        for piece in pieces(text, policy.max_record_bytes)
    ]


def _live(turn: Turn, answer: Answer, entry: entries.Llm, policy: Policy) -> Sequence[entries.Llm]:
    """Return `entry` with what goes out at once, since no chain is declared."""
    ended = entry.finish_reason is not None
    if turn.request.delivery == "final" and not answer.released:
        return (entry.model_copy(update={"settled": ended}),)
    if answer.verbatim:
        start = len(answer.released)
        waiting = answer.text.tail(start) + entry.text
        live = start + safe_length(waiting, len(waiting), ended=ended)
        return (entry.model_copy(update={"live": live, "settled": ended}),)
    # A chain that is gone has let out text of its own; what follows it is spelt out, in records of its own.
    tail = releasable(str(answer.text.append(entry.text)), str(answer.released), 0, ended=ended)
    if tail is None or not (tail or ended):
        return (entry,)
    releases = _releases(turn, tail, policy)
    releases[-1] = releases[-1].model_copy(update={"settled": ended})
    return (entry, *releases)


def _too_much(answer: Answer, policy: Policy) -> entries.Failed | None:
    if len(answer.text) > policy.max_answer_chars:
        return _too_large("model", f"the answer is longer than {policy.max_answer_chars} characters")
    if _json_longer(answer.refusal, policy.max_refusal_bytes):
        return _too_large("model", f"the answer's refusal is longer than {policy.max_refusal_bytes} bytes")
    if _calls_too_long(answer.tool_calls, policy):
        return _too_large("model", f"the answer's tool calls are longer than {policy.max_tool_call_bytes} bytes")
    if len(answer.early) > policy.max_early_frames:
        return _gap(answer)
    return None


def _too_large(phase: PhaseName, what: str) -> entries.Failed:
    return entries.Failed(error="AnswerTooLargeError", phase=phase, message=f"{what}: ask for a shorter one")


def _calls_too_long(calls: Sequence[ToolCall], policy: Policy) -> bool:
    limit = policy.max_tool_call_bytes - _JSON_BYTES_PER_CALL * len(calls)
    return limit < 0 or _json_longer("".join(call.id + call.name + call.arguments for call in calls), limit)


def _json_longer(text: str, limit: int) -> bool:
    """Return whether `text` takes more than `limit` bytes as JSON, where one character takes one to six."""
    return len(text) > limit // _MAX_JSON_BYTES_PER_CHAR and len(orjson.dumps(text)) > limit


def _attempt_failed(turn: Turn, error: ModelError, policy: Policy) -> entries.Llm:
    again = error.retryable and turn.attempt + 1 < policy.max_attempts
    keeps = not turn.released_offset or policy.on_retry == "reset"
    return entries.Llm(
        step=turn.step, attempt=turn.attempt, failed=entries.CallFailure(error=error.type, retry=again and keeps)
    )


def _pass_done(turn: Turn, event: events.PassDone, policy: Policy) -> Sequence[AnyEntry]:
    if turn.phase is Phase.SETTLING and event.final:
        return _settled(turn, event, policy)
    if turn.phase is Phase.MODEL and not event.final:
        return _prefix_done(turn, event, policy)
    return ()


def _prefix_done(turn: Turn, event: events.PassDone, policy: Policy) -> Sequence[AnyEntry]:
    match event.outcome:
        case Approved(text=output):
            tail = releasable(output, str(turn.answer.released), policy.window)
            if not tail:
                return ()
            return _releases(turn, tail, policy)
        case Refused(processor=processor, reason=reason, reports=reports):
            rejection = entries.Rejection(processor=processor, reason=reason)
            return (entries.Llm(step=turn.step, attempt=turn.attempt, rejected=rejection, reports=reports),)
        case Broken():
            # Text stops flowing, no more: whether the processor is broken is for the whole answer to show.
            return ()


def _settled(turn: Turn, event: events.PassDone, policy: Policy) -> Sequence[AnyEntry]:
    match event.outcome:
        case Approved(text=output, tool_calls=tool_calls, reports=reports, refusal=refusal):
            if len(output) > policy.max_answer_chars:
                return (_too_large("output", f"the processed answer has over {policy.max_answer_chars} characters"),)
            if _json_longer(refusal or "", policy.max_refusal_bytes):
                return (_too_large("output", f"the processed refusal has over {policy.max_refusal_bytes} bytes"),)
            if _calls_too_long(tool_calls, policy):
                return (_too_large("output", f"the processed tool calls have over {policy.max_tool_call_bytes} bytes"),)
            tail = releasable(output, str(turn.answer.released), 0, ended=True)
            if tail is None:
                return (_contradiction(event.outcome),)
            *first, last = pieces(tail, policy.max_record_bytes)
            return (
                *(entries.OutputProcessed(step=turn.step, tail=piece, final=False) for piece in first),
                entries.OutputProcessed(
                    step=turn.step, tail=last, tool_calls=tool_calls, refusal=refusal or "", reports=reports
                ),
            )
        case Refused(processor=processor, reason=reason, reports=reports):
            rejection = entries.Rejection(processor=processor, reason=reason)
            return (entries.OutputProcessed(step=turn.step, rejected=rejection, reports=reports),)
        case Broken() as broken:
            return (_broken("output", broken),)


def _contradiction(outcome: Approved) -> entries.Failed:
    """The settled answer takes back what readers have. The last member that rewrote it is the one to look at."""
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


def _broken(phase: PhaseName, broken: Broken) -> entries.Failed:
    return entries.Failed(
        error="ProcessorFailedError",
        phase=phase,
        processor=broken.processor,
        message=f"the {phase} processor failed ({broken.error}): the turn ends here so that nothing passes unjudged",
        reports=broken.reports,
    )


def _overdue(turn: Turn, now: float, policy: Policy) -> Sequence[AnyEntry]:
    if now < wake_at(turn, policy):
        return ()
    gap = turn.answer.gap_since
    if turn.phase is Phase.MODEL and gap is not None and now >= gap + policy.gap_timeout_s:
        return (_gap(turn.answer),)
    return (
        entries.Failed(
            error="TurnTimeoutError",
            phase=_PHASE_NAMES.get(turn.phase),
            message="the turn took longer than it may: submit the message as a new turn to try again",
        ),
    )


def _gap(answer: Answer) -> entries.Failed:
    message = f"frame {answer.next_seq} of the answer never arrived: check what writes to the frames topic"
    return entries.Failed(error="FrameGapError", phase="model", message=message)


def wake_at(turn: Turn, policy: Policy) -> float:
    """Return the time (epoch seconds) from which a `Tick` would end this turn."""
    due = turn.deadline_at
    if turn.phase is Phase.MODEL:
        due = min(due, turn.progress_at + policy.idle_timeout_s)
        if turn.answer.gap_since is not None:
            due = min(due, turn.answer.gap_since + policy.gap_timeout_s)
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
            answer = _release(turn.answer, entry.tail)
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
    answer = _collect(turn.answer, entry)
    progressed = entry.seq is not None
    gap = answer.gap_since
    if not answer.early:
        gap = None
    elif gap is None or answer.next_seq != turn.answer.next_seq:
        # Another frame is missing now than before, if one was.
        gap = record.at
    turn = turn.with_(answer=replace(answer, gap_since=gap), progress_at=record.at if progressed else turn.progress_at)
    if entry.rejected is not None:
        return _end(turn, record, "rejected")
    if entry.failed is not None:
        if entry.failed.retry:
            return turn.with_(attempt=turn.attempt + 1, answer=Answer(), progress_at=record.at)
        return _end(turn, record, "failed")
    if entry.settled:
        return _end(turn, record, "completed")
    return turn.with_(phase=Phase.SETTLING) if answer.finish_reason is not None else turn


def _collect(answer: Answer, entry: entries.Llm) -> Answer:
    """Return `answer` with what `entry` brings and releases."""
    if entry.seq is not None:
        answer = replace(
            answer,
            text=answer.text.append(entry.text),
            half=entry.half,
            next_seq=entry.seq,
            early={seq: frame for seq, frame in answer.early.items() if seq >= entry.seq},
            tool_calls=answer.with_deltas(entry.tool_calls) if entry.tool_calls else answer.tool_calls,
            refusal=answer.refusal + entry.refusal,
            finish_reason=entry.finish_reason,
            usage=entry.usage or answer.usage,
        )
    if entry.early:
        early = {frame.seq: frame for frame in entry.early if frame.seq is not None}
        answer = replace(answer, early={**answer.early, **early})
    if entry.live is not None:
        start = len(answer.released)
        return replace(answer, released=answer.released.append(answer.text.tail(start)[: entry.live - start]))
    return _release(answer, entry.release)


def _release(answer: Answer, text: str) -> Answer:
    return replace(answer, released=answer.released.append(text), verbatim=False) if text else answer


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
