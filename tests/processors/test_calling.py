"""Calling processors: whatever comes of it is a result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from processors import Answer, Pass, Replace, TurnContext, output_processor
from processors.calling import call_async, call_directly, call_sync, run_chain
from processors.chain import OutputChain, OutputRun, Returned, Threw
from processors.declare import Processor, as_processor
from processors.outcomes import Approved


def processor(function: Callable[..., Any]) -> Processor:
    """Declare a function."""
    return as_processor(output_processor(name="x")(function), "output")


def raising(error: BaseException) -> Callable[[Answer], Any]:
    """Return a function that raises."""

    def function(_: Answer) -> Any:
        raise error

    return function


@pytest.mark.parametrize("error", [LookupError("secret"), SystemExit(3), RecursionError(), TimeoutError()])
def test_what_a_processor_throws_is_its_class_name(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    """The message is not logged where anybody would see it by default."""
    caplog.set_level(logging.INFO)
    assert call_sync(processor(raising(error)), Answer("x"), TurnContext()) == Threw(type(error).__name__)
    assert caplog.text == ""


def test_ctrl_c_is_not_the_processors_failure() -> None:
    """Whoever runs a processor by hand can stop it."""
    with pytest.raises(KeyboardInterrupt):
        call_sync(processor(raising(KeyboardInterrupt())), Answer("x"), TurnContext())


def test_a_sync_processor_that_returns_something_to_await_has_failed() -> None:
    """Nobody would await it."""

    async def later(_: Answer) -> Pass:
        return Pass()

    def hidden(answer: Answer) -> object:
        return later(answer)

    result = call_sync(processor(hidden), Answer("x"), TurnContext())
    assert result == Threw("MalformedVerdictError")


async def test_cancelling_a_call_is_not_its_failure() -> None:
    """The caller's cancellation goes through; the processor's own does not."""

    @output_processor(name="x")
    async def waits(_: Answer) -> Pass:
        await asyncio.sleep(60)
        return Pass()

    @output_processor(name="x")
    async def cancels_itself(_: Answer) -> Pass:
        raise asyncio.CancelledError

    task = asyncio.ensure_future(call_async(as_processor(waits, "output"), Answer("x"), TurnContext()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await call_async(as_processor(cancels_itself, "output"), Answer("x"), TurnContext())
    assert result == Threw("CancelledError")


async def test_a_chain_is_driven_to_its_outcome() -> None:
    """With members of both sorts; times are the clock's, and each step but the first is told."""

    @output_processor(name="a")
    def first(answer: Answer) -> Replace:
        return Replace(answer.text + "1")

    @output_processor(name="b")
    async def second(answer: Answer) -> Replace:
        return Replace(answer.text + "2")

    chain = OutputChain([as_processor(first, "output"), as_processor(second, "output")])
    ticks = iter([1.0, 1.5, 2.0, 4.0])
    steps: list[OutputRun] = []
    outcome = await run_chain(chain, chain.open(Answer("0")), call_directly, lambda: next(ticks), steps.append)
    assert isinstance(outcome, Approved)
    assert outcome.text == "012"
    assert [report.time_ms for report in outcome.reports] == [500.0, 2000.0]
    assert [step.subject.text for step in steps] == ["01"]


async def test_calling_directly_returns_what_the_processor_returns() -> None:
    """Whatever that is; the chain judges it."""
    assert await call_directly(processor(lambda answer: answer.text), Answer("x"), TurnContext()) == Returned("x")
