"""What follows from what the chains say: about the message, the prompt, a prefix of the answer, and the whole of it."""

from __future__ import annotations

from collections.abc import Sequence

from processors.outcomes import Approved, Blocked, Broken, Derived, Proceeded, Refused
from streams.gate import entries, events
from streams.gate.arrivals import releases
from streams.gate.entries import AnyEntry
from streams.gate.limits import calls_too_long, json_longer, prompt_too_long, too_large
from streams.gate.policy import Policy
from streams.gate.release import pieces, releasable
from streams.gate.state import Phase, Turn
from topics.records import Phase as PhaseName


def pre_done(turn: Turn, event: events.PreDone, policy: Policy) -> AnyEntry:
    """Return what follows from what the pre-processors said."""
    match event.outcome:
        case Proceeded(message=message, metadata=metadata, reports=reports):
            changed = message if message != turn.message else None
            if changed is not None:
                too_long = prompt_too_long(turn, turn.with_(message=changed).base_prompt(), "pre", policy)
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


def input_done(turn: Turn, event: events.InputDone, policy: Policy) -> AnyEntry:
    """Return what follows from what the input chain said."""
    match event.outcome:
        case Derived(prompt=prompt, reports=reports):
            return prompt_too_long(turn, prompt, "input", policy) or entries.InputProcessed(
                step=turn.step, prompt=prompt, reports=reports
            )
        case Broken() as broken:
            return _broken("input", broken)


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
            if len(output) > policy.max_answer_chars:
                return (too_large("output", f"the processed answer has over {policy.max_answer_chars} characters"),)
            if json_longer(refusal or "", policy.max_refusal_bytes):
                return (too_large("output", f"the processed refusal has over {policy.max_refusal_bytes} bytes"),)
            if calls_too_long(tool_calls, policy):
                return (too_large("output", f"the processed tool calls have over {policy.max_tool_call_bytes} bytes"),)
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
