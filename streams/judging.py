"""Judging all that an answer says to its reader: its text, and the refusal that some models give apart from it."""

from __future__ import annotations

from dataclasses import replace

from processors.contracts import Answer, TurnContext
from processors.outcomes import Approved, OutputOutcome
from streams.chains import ChainRunner
from streams.gate.machine import RunOutput
from streams.gate.state import Turn


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
