"""Budgets, a rate limit and a processor that spends, for the worker processes of these tests."""

from __future__ import annotations

from processors import Agent, Answer, Budget, Deps, Pass, Usage, output_processor, spend, tool
from processors.builtin import rate_limit

#: What each of the scripted model calls below costs.
CALL = 100


@output_processor(name="judge")
def judge(_answer: Answer) -> Pass:
    """Ask a model of its own, which costs a call."""
    spend(Usage(prompt_tokens=CALL - 10, completion_tokens=10, total_tokens=CALL), model="guard")
    return Pass()


@tool()
def look(what: str) -> str:
    """Look something up."""
    return f"nothing about {what}"


budgeted = Deps(
    output_processors=[judge],
    agents=[Agent(name="default", tools=("look",))],
    tools=[look],
    # Two tenants, so that the tests do not spend each other's tokens: a step costs two calls.
    budgets=[Budget("tenant", 2 * CALL, 3600.0, only="single"), Budget("tenant", 4 * CALL, 3600.0, only="steps")],
)
limited = Deps(pre_processors=[rate_limit(3, 3600.0, response="Slowly.")])
