"""Processors that spend, for the tests of chain runners."""

from __future__ import annotations

import asyncio

from processors import Answer, Deps, Pass, Usage, output_processor, spend

ONE = Usage(prompt_tokens=9, completion_tokens=1, total_tokens=10)


@output_processor("blocking")
def blocking(_answer: Answer) -> Pass:
    """Ask a model, and wait for it in place."""
    spend(ONE, model="guard")
    return Pass()


@output_processor("awaiting")
async def awaiting(_answer: Answer) -> Pass:
    """Ask a model from a task."""
    await asyncio.create_task(_ask())
    return Pass()


async def _ask() -> None:
    spend(ONE, model="judge")


@output_processor("slow", timeout_s=0.2)
async def slow(_answer: Answer) -> Pass:
    """Ask a model, and take too long over what it says."""
    spend(ONE)
    await asyncio.sleep(60)
    return Pass()


sync = Deps(output_processors=[blocking])
mixed = Deps(output_processors=[blocking, awaiting])
both = Deps(output_processors=[awaiting, slow])

_BLOCKING = ("blocking", "pass", ONE, "guard")
_AWAITING = ("awaiting", "pass", ONE, "judge")
EXPECTED = {
    "sync": [_BLOCKING],
    "mixed": [_BLOCKING, _AWAITING],
    "both": [_AWAITING, ("slow", "failed", ONE, None)],
}
