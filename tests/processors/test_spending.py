"""What processors say they spent reaches their reports, whatever becomes of what they do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from processors import (
    Answer,
    Deps,
    IncomingMessage,
    MalformedVerdictError,
    Pass,
    Proceed,
    Prompt,
    Reject,
    TextPart,
    TurnContext,
    Usage,
    input_processor,
    output_processor,
    pre_processor,
    spend,
)
from processors.calling import call_directly, run_chain
from processors.chain import InputChain, OutputChain
from processors.message_chains import PreChain
from processors.outcomes import Report

ONE = Usage(prompt_tokens=9, completion_tokens=1, total_tokens=10)


def judged(function: Callable[[Answer], Any]) -> Report:
    """Return the report of an output processor."""
    member = output_processor("asking")(function)
    chain = OutputChain(Deps(output_processors=[member]).output_processors)
    (report,) = asyncio.run(run_chain(chain, chain.open(Answer("text")), call_directly, time.monotonic)).reports
    return report


def passing(_answer: Answer) -> Pass:
    """Ask once."""
    spend(ONE, model="guard")
    return Pass()


def rejecting(_answer: Answer) -> Reject:
    """Ask once, and refuse."""
    spend(ONE, model="guard")
    return Reject("policy")


def throwing(_answer: Answer) -> Pass:
    """Ask once, and fail over what comes back."""
    spend(ONE, model="guard")
    raise LookupError


def babbling(_answer: Answer) -> str:
    """Ask once, and answer nonsense."""
    spend(ONE, model="guard")
    return "fine"


async def waiting(_answer: Answer) -> Pass:
    """Ask from a task and from a thread of one's own."""
    await asyncio.gather(asyncio.to_thread(spend, Usage()), asyncio.create_task(ask()))
    return Pass()


async def ask() -> None:
    """Ask once."""
    spend(ONE, model="guard")


@pytest.mark.parametrize(
    ("function", "verdict"),
    [(passing, "pass"), (rejecting, "reject"), (throwing, "failed"), (babbling, "failed")],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_spent_is_reported_whatever_the_processor_comes_to(function: Any, verdict: str) -> None:
    """It is to be paid for all the same."""
    report = judged(function)
    assert (report.verdict, report.usage, report.model) == (verdict, ONE, "guard")


def test_tasks_and_threads_of_a_processor_spend_for_it() -> None:
    """Two models, one of them without a name, are none that could be named."""
    report = judged(waiting)
    assert (report.usage, report.model) == (ONE, None)


def test_several_calls_are_added_up() -> None:
    """And the model is named if it is one."""

    def twice(_answer: Answer) -> Pass:
        spend(ONE, model="guard")
        spend(ONE, model="guard")
        return Pass()

    report = judged(twice)
    assert report.usage == Usage(prompt_tokens=18, completion_tokens=2, total_tokens=20)
    assert report.model == "guard"


def test_who_spends_nothing_reports_nothing() -> None:
    """Also beside one that does: each has its own."""
    members = [output_processor("asking")(passing), output_processor("silent")(lambda _: Pass())]
    chain = OutputChain(Deps(output_processors=members).output_processors)
    outcome = asyncio.run(run_chain(chain, chain.open(Answer("text")), call_directly, time.monotonic))
    assert [report.usage for report in outcome.reports] == [ONE, None]


def test_other_kinds_report_it_too() -> None:
    """What they answer has no room for it, and need not have."""

    @input_processor("masking")
    def masking(prompt: Prompt) -> Prompt:
        spend(ONE)
        return prompt

    @pre_processor("sorting")
    def sorting(_incoming: IncomingMessage) -> Proceed:
        spend(ONE)
        raise LookupError

    deps = Deps(input_processors=[masking], pre_processors=[sorting])
    inputs, pres = InputChain(deps.input_processors), PreChain(deps.pre_processors)
    opened = inputs.open(Prompt(), TurnContext())
    derived = asyncio.run(run_chain(inputs, opened, call_directly, time.monotonic))
    assert [report.usage for report in derived.reports] == [ONE]
    begun = pres.open(IncomingMessage((TextPart(text="x"),)))
    skipped = asyncio.run(run_chain(pres, begun, call_directly, time.monotonic))
    assert [(report.verdict, report.usage) for report in skipped.reports] == [("skipped", ONE)]


def test_outside_of_a_run_nothing_happens() -> None:
    """So that a processor can be called as the function it is."""
    assert passing(Answer("text")) == Pass()


@pytest.mark.parametrize("usage", [None, 10, {"total_tokens": 10}, Usage(total_tokens=-1), Usage(prompt_tokens=-1)])
def test_what_is_no_usage_is_refused(usage: Any) -> None:
    """A negative number would give tokens away."""
    with pytest.raises(MalformedVerdictError, match="Usage"):
        spend(usage)
    nameless: Any = 7
    with pytest.raises(MalformedVerdictError, match="model"):
        spend(ONE, model=nameless)
