"""What processors spend themselves: those that ask a model say what that cost, and it counts against budgets.

    spend(Usage(prompt_tokens=120, completion_tokens=8, total_tokens=128), model="guard-8b")

Said where the call was made, however deep, and before anything can go wrong with what it answered: it counts even if the
processor then fails. Whoever calls a processor collects what is said meanwhile; said anywhere else it goes nowhere, so
that a processor can be called as the function it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from processors.errors import MalformedVerdictError
from topics.content import Usage


@dataclass(frozen=True, slots=True)
class Spending:
    """What one run of a processor spent in all; `model` is whom it asked, None if it does not say or asked several."""

    usage: Usage
    model: str | None = None


class Tally:
    """Adds up what one run of a processor spends."""

    def __init__(self) -> None:
        self._said: list[Spending] = []

    def add(self, one: Spending) -> None:
        """Add what one call cost; from any thread."""
        self._said.append(one)

    def total(self) -> Spending | None:
        """Return the sum, None if nothing was spent."""
        said = tuple(self._said)
        if not said:
            return None
        models = {one.model for one in said}
        usage = Usage(
            prompt_tokens=sum(one.usage.prompt_tokens for one in said),
            completion_tokens=sum(one.usage.completion_tokens for one in said),
            total_tokens=sum(one.usage.total_tokens for one in said),
        )
        return Spending(usage, models.pop() if len(models) == 1 else None)


_TALLY: ContextVar[Tally | None] = ContextVar("turngate_tally", default=None)


def spend(usage: Usage, *, model: str | None = None) -> None:
    """Say that the processor that is running has spent `usage`, asking `model`.

    Counts where it is said in the processor itself, in a task or an `asyncio.to_thread` of it. Threads that were made
    otherwise do not know for whom they work.

    Raises:
        MalformedVerdictError: that is no usage, or less than nothing was spent.
    """
    _check(usage, model)
    tally = _TALLY.get()
    if tally is not None:
        tally.add(Spending(usage, model))


def _check(usage: object, model: object) -> None:
    if not isinstance(usage, Usage) or min(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) < 0:
        raise MalformedVerdictError("spend: give a Usage whose numbers of tokens are 0 or more")
    if not isinstance(model, str | None):
        raise MalformedVerdictError("spend: model must be a text or None")


@contextmanager
def tallied() -> Iterator[Tally]:
    """Give a tally of what is spent within the block, also in tasks and threads that are begun there."""
    tally = Tally()
    token = _TALLY.set(tally)
    try:
        yield tally
    finally:
        _TALLY.reset(token)
