"""What follows from what the chains say: about the message, the prompt, a prefix of the answer, and the whole of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from processors.outcomes import Approved, Blocked, Broken, Derived, Modified, Proceeded, Refused, Report
from streams.gate import entries, events, steps
from streams.gate.arrivals import releases
from streams.gate.entries import AnyEntry
from streams.gate.failures import broken, contradiction
from streams.gate.limits import calls_too_long, json_longer, prompt_too_long, too_large
from streams.gate.policy import Policy
from streams.gate.release import pieces, releasable
from streams.gate.state import Phase, Turn
from topics.records import Phase as PhaseName

#: What blocks a turn whose tenant or user has no tokens left.
BUDGET = "token-budget"
#: Who is late when post-processors are, since nobody knows which of them it is.
POST = "post-processors"


def governance_done(turn: Turn, event: events.GovernanceDone, policy: Policy, *, afford: bool) -> AnyEntry:
    """Return what follows from what the organisation's rules said, and from whether there are tokens left to spend."""
    if isinstance(event.outcome, Broken):
        return broken("governance", event.outcome)
    if not afford and isinstance(event.outcome, Proceeded):
        report = Report(processor=BUDGET, version="1", verdict="block")
        reports = (*event.outcome.reports, report)
        return entries.Governed(blocked_by=BUDGET, response=policy.budget_reply, reports=reports)
    return _message_seen(entries.Governed, turn, event.outcome, policy)


def pre_done(turn: Turn, event: events.PreDone, policy: Policy) -> AnyEntry:
    """Return what follows from what the pre-processors said."""
    if isinstance(event.outcome, Broken):
        return broken("pre", event.outcome)
    return _message_seen(entries.PreProcessed, turn, event.outcome, policy)


def _message_seen(
    kind: type[entries.PreProcessed], turn: Turn, outcome: Proceeded | Blocked, policy: Policy
) -> AnyEntry:
    metadata = {**turn.metadata, **outcome.metadata}
    if isinstance(outcome, Blocked):
        response = outcome.response or _default_reply(turn, policy)
        return kind(metadata=metadata, blocked_by=outcome.processor, response=response, reports=outcome.reports)
    changed = outcome.message if outcome.message != turn.message else None
    if changed is not None:
        phase: PhaseName = "governance" if kind is entries.Governed else "pre"
        too_long = prompt_too_long(turn, turn.with_(message=changed).base_prompt(), phase, policy)
        if too_long is not None:
            return too_long.model_copy(update={"reports": outcome.reports})
    return kind(message=changed, metadata=metadata, reports=outcome.reports)


def _default_reply(turn: Turn, policy: Policy) -> str:
    """Return the reply of a block that gives none: the channel's, where there is somebody to read it as it comes."""
    return policy.reply_in(turn.request.channel) if turn.request.delivery == "stream" else ""


def input_done(turn: Turn, event: events.InputDone, policy: Policy) -> AnyEntry:
    """Return what follows from what the input chain said."""
    match event.outcome:
        case Derived(prompt=prompt, reports=reports):
            too_long = prompt_too_long(turn, prompt, "input", policy)
            if too_long is not None:
                return too_long.model_copy(update={"reports": reports})
            return entries.InputProcessed(step=turn.step, prompt=prompt, reports=reports)
        case Broken() as outcome:
            return broken("input", outcome)


def pass_done(turn: Turn, event: events.PassDone, policy: Policy) -> Sequence[AnyEntry]:
    """Return what follows from what the output chain said about a prefix of the answer, or about all of it."""
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
            return releases(turn, tail, policy)
        case Refused(processor=processor, reason=reason, reports=reports):
            rejection = entries.Rejection(processor=processor, reason=reason)
            return (entries.Llm(step=turn.step, attempt=turn.attempt, rejected=rejection, reports=reports),)
        case Broken():
            # Text stops flowing, no more: whether the processor is broken is for the whole answer to show.
            return ()


def _settled(turn: Turn, event: events.PassDone, policy: Policy) -> Sequence[AnyEntry]:
    match event.outcome:
        case Approved(text=output, tool_calls=tool_calls, reports=reports, refusal=refusal):
            too_much = _too_much(event.outcome, policy)
            if too_much is not None:
                return (too_large("output", too_much).model_copy(update={"reports": reports}),)
            calls = steps.to_run(turn, tool_calls, turn.answer.finish_reason)
            if calls and (too_many := steps.one_too_many(turn)) is not None:
                return (too_many,)
            tail = _tail(turn, output, goes_on=bool(calls))
            if tail is None:
                return (contradiction(event.outcome),)
            *first, last = pieces(tail, policy.max_record_bytes)
            return (
                *(entries.OutputProcessed(step=turn.step, tail=piece, final=False) for piece in first),
                entries.OutputProcessed(
                    step=turn.step,
                    tail=last,
                    tool_calls=tool_calls,
                    refusal=refusal or "",
                    reports=reports,
                    calls=calls,
                ),
            )
        case Refused(processor=processor, reason=reason, reports=reports):
            rejection = entries.Rejection(processor=processor, reason=reason)
            return (entries.OutputProcessed(step=turn.step, rejected=rejection, reports=reports),)
        case Broken() as outcome:
            return (broken("output", outcome),)


def _too_much(approved: Approved, policy: Policy) -> str | None:
    """Return what of a judged answer is more than the policy allows, None if nothing is."""
    if len(approved.text) > policy.max_answer_chars:
        return f"the processed answer has over {policy.max_answer_chars} characters"
    if json_longer(approved.refusal or "", policy.max_refusal_bytes):
        return f"the processed refusal has over {policy.max_refusal_bytes} bytes"
    if calls_too_long(approved.tool_calls, policy):
        return f"the processed tool calls have over {policy.max_tool_call_bytes} bytes"
    return None


def _tail(turn: Turn, output: str, *, goes_on: bool) -> str | None:
    """Return what the settled `output` of a step adds to what is out, None if it contradicts that.

    Where steps are judged together the next one may still change the end of this one's output, and a chain that was shown
    a whole answer no longer says where that end begins. So a step that goes on leaves it at what is out already.
    """
    released = str(turn.answer.released)
    if turn.started.carry and goes_on:
        return "" if output.startswith(released) else None
    return releasable(output, released, 0, ended=True)


def post_done(turn: Turn, event: events.PostDone, policy: Policy) -> AnyEntry:
    """Return what follows from what the post-processors made of the whole reply."""
    match event.outcome:
        case Modified(text=text, metadata=metadata, reports=reports):
            if json_longer(text, policy.max_record_bytes):
                # Readers get a final version in one record: a longer one is none, and the reply stays as it was.
                return entries.PostProcessed(metadata=metadata, reports=tuple(map(_undone, reports)))
            changed = text if text != turn.text else None
            return entries.PostProcessed(text=changed, metadata=metadata, reports=reports)
        case Blocked(processor=processor, response=response, metadata=metadata, reports=reports):
            response = response or _default_reply(turn, policy)
            return entries.PostProcessed(metadata=metadata, blocked_by=processor, response=response, reports=reports)
        case Refused(processor=processor, reason=reason, reports=reports):
            rejection = entries.Rejection(processor=processor, reason=reason)
            return entries.PostProcessed(rejected=rejection, reports=reports)
        case Broken() as outcome:
            return broken("post", outcome)


def post_late() -> AnyEntry:
    """Return what follows when the reader of a streamed reply cannot wait for its final version any longer."""
    report = Report(processor=POST, version="1", verdict="skipped", error="TimeoutError")
    return entries.PostProcessed(late=True, reports=(report,))


def _undone(report: Report) -> Report:
    return replace(report, verdict="skipped", changes=0, error="AnswerTooLargeError") if report.changes else report
