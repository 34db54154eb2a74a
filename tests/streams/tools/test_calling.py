"""One tool called: what comes of it, and how long it may take."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from processors import ToolContext, tool
from processors.tools import Tool
from streams.tools.answers import ToolAnswer
from streams.tools.calling import call_tool
from tests.memory.simtime import simulate

PRIVATE = "a very private sentence"


@tool()
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


@tool()
async def greet(context: ToolContext) -> str:
    """Greet the thread."""
    return f"hello {context.thread_id}"


@tool()
async def give_up() -> str:
    """Raise a cancellation that nobody asked for."""
    raise asyncio.CancelledError


@tool()
def leave() -> str:
    """End the program."""
    sys.exit(PRIVATE)


@tool()
async def fail() -> str:
    """Raise an exception that quotes something."""
    raise LookupError(PRIVATE)


@tool()
def odd() -> object:
    """Return what JSON has no word for."""
    return object()


@tool()
async def endless() -> str:
    """Wait, and wait again when told to stop."""
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(3600)


def called(one: Tool, arguments: str = "{}", limit_s: float | None = None, max_chars: int = 100) -> ToolAnswer:
    """Return what a call comes to."""
    return asyncio.run(call_tool(one, arguments, ToolContext(thread_id="h"), limit_s=limit_s, max_chars=max_chars))


def test_a_tool_of_either_sort_answers() -> None:
    """A text as it is, anything else as JSON."""
    assert called(double, '{"number": 21}') == ToolAnswer("answered", "42")
    assert called(greet) == ToolAnswer("answered", "hello h")


@pytest.mark.parametrize(
    ("one", "outcome", "failure"),
    [
        (give_up, "failed", "ToolResultError"),
        (leave, "failed", "ToolResultError"),
        (fail, "failed", "LookupError"),
        (odd, "failed", "ToolResultError"),
    ],
)
def test_a_tool_that_fails_is_named_by_class_only(one: Tool, outcome: str, failure: str) -> None:
    """Its message goes nowhere: it may hold anything."""
    answer = called(one)
    assert (answer.outcome, answer.failure, answer.content) == (outcome, failure, None)
    assert str(answer.error).startswith(f"{failure}: ")
    assert PRIVATE not in str(answer.error)


def test_a_model_is_told_what_is_wrong_with_its_arguments() -> None:
    """And the tool is not called; however much there is to say, it is said in some thousand characters."""
    answer = called(double, '{"number": "many"}')
    assert answer.outcome == "refused"
    assert str(answer.error).startswith("ToolArgumentsError: The arguments of double cannot be used. number: ")
    long = called(double, '{"%s": 1}' % ("x" * 100_000))
    assert len(str(long.error)) < 5000


def test_a_long_result_is_an_error_that_says_so() -> None:
    """In characters, before it is sent anywhere."""
    assert called(greet, max_chars=7).content == "hello h"
    answer = called(greet, max_chars=6)
    assert (answer.content, answer.failure) == (None, "ToolResultTooLargeError")
    assert "7 characters, and 6 are allowed" in str(answer.error)


def test_an_async_tool_is_left_behind_when_its_time_is_over() -> None:
    """Even if it does not let itself be cancelled."""

    async def main() -> tuple[ToolAnswer, float]:
        loop = asyncio.get_running_loop()
        answer = await call_tool(endless, "{}", ToolContext(), limit_s=30.0, max_chars=100)
        return answer, loop.time()

    answer, now = simulate(main())
    assert (answer.outcome, now) == ("timed_out", 30.0)
    assert "no result within 30 s" in str(answer.error)


def test_cancelling_a_call_cancels_the_tool() -> None:
    """At once."""
    ends: list[str] = []

    @tool()
    async def wait() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("stopped")
        return ""

    async def main() -> Any:
        call = asyncio.create_task(call_tool(wait, "{}", ToolContext(), limit_s=None, max_chars=100))
        await asyncio.sleep(1)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.sleep(0)
        return call.cancelled()

    assert simulate(main())
    assert ends == ["stopped"]
