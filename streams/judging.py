"""Showing a turn to the chains: what each of them sees of it.

All that an answer says to its reader is judged: its text, and the refusal that some models give apart from it; and a
post-processed reply once more, where the operator wants that.
"""

from __future__ import annotations

from dataclasses import replace

from processors.contracts import Answer, Reply, ToolCallCheck, TurnContext
from processors.outcomes import Approved, Broken, Modified, OutputOutcome, PostOutcome, Refused, ToolOutcome
from streams.chains import ChainRunner
from streams.gate import steps
from streams.gate.state import Turn
from streams.gate.work import RunOutput


def context_of(turn: Turn) -> TurnContext:
    """Return what processors are told about `turn` beside what they judge."""
    request = turn.request
    return TurnContext(
        tenant=request.tenant,
        thread_id=request.thread_id,
        turn_id=request.turn_id,
        agent=request.agent,
        channel=request.channel,
        user=request.user,
        step=turn.step,
        attempt=turn.attempt,
        attributes=request.attributes or {},
        metadata=turn.metadata,
        recent_turns=turn.recent,
    )


def subject(turn: Turn, work: RunOutput, context: TurnContext) -> Answer:
    """Return what the output chain is to judge of `turn`. Tool calls are shown only whole, so not on a prefix."""
    answer = turn.answer
    return Answer(
        text=str(answer.text),
        tool_calls=answer.tool_calls if work.final else (),
        step=work.step,
        attempt=work.attempt,
        finish_reason=answer.finish_reason,
        refusal=answer.refusal or None,
        complete=work.final,
        context=context,
    )


async def judge(chains: ChainRunner, answer: Answer) -> OutputOutcome:
    """Return what the output chain makes of `answer`; of a complete one, what it makes of the refusal too.

    The refusal goes through the chain as an answer of its own, so that it reaches nobody unjudged.
    """
    outcome = await chains.run_output(answer)
    if not answer.complete or not answer.refusal or not isinstance(outcome, Approved):
        return outcome
    refusal = await chains.run_output(replace(answer, text=answer.refusal, tool_calls=(), refusal=None))
    reports = (*outcome.reports, *refusal.reports)
    if isinstance(refusal, Approved):
        return replace(outcome, refusal=refusal.text, reports=reports)
    return replace(refusal, reports=reports)


async def judge_calls(chains: ChainRunner, turn: Turn, context: TurnContext) -> tuple[ToolOutcome, ...]:
    """Return what the rules say of each tool call that `turn` would make, in order; the first that breaks is the last."""
    persona = turn.started.persona
    offered = {tool.name: tool for tool in persona.tools} if persona is not None else {}
    outcomes: list[ToolOutcome] = []
    for call in steps.pending(turn):
        outcome = await chains.run_tool_rules(ToolCallCheck(call, offered.get(call.name), context))
        outcomes.append(outcome)
        if isinstance(outcome, Broken):
            break
    return tuple(outcomes)


async def judge_reply(chains: ChainRunner, turn: Turn, context: TurnContext) -> PostOutcome | Refused:
    """Return what the post-processors make of the reply of `turn`, and the output chain of that if it is to judge it."""
    request = turn.request
    reply = Reply(turn.text, request.message, request.user, request.channel, turn.metadata, context)
    outcome = await chains.run_post(reply)
    if not (chains.manifest.gate_post_processed and isinstance(outcome, Modified)) or outcome.text == turn.text:
        return outcome
    judged = await chains.run_output(Answer(outcome.text, step=turn.step, attempt=turn.attempt, context=context))
    reports = (*outcome.reports, *judged.reports)
    if isinstance(judged, Approved):
        return replace(outcome, text=judged.text, reports=reports)
    return replace(judged, reports=reports)
