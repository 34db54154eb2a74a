"""What runs tools, and who is told how the calls go, as the pool sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from processors.tools import ToolContext, ToolSpec
from streams.tools.answers import Outcome, ToolAnswer


@dataclass(frozen=True, slots=True)
class ToolJob:
    """One call: the tool's `name`, the JSON text of its `arguments`, and when the turn ends (epoch seconds), if it does."""

    name: str
    arguments: str
    context: ToolContext
    deadline_at: float | None = None


class ToolHost(Protocol):
    """Runs tools, many at once, each under its limit."""

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """What there is, by name."""

    async def run(self, job: ToolJob) -> ToolAnswer:
        """Run one of the tools once. Whatever it does is part of the answer, never an exception of this method.

        Cancelling this stops an async tool; a sync one runs on, to its end or its limit, and nobody hears of it.
        """


class ToolObserver:
    """Is told how calls go, by the tool's name ("" for one that there is not); does nothing."""

    def ended(self, tool: str, outcome: Outcome, seconds: float) -> None:
        """A call came to its end, `seconds` after it was started."""

    def open_calls(self, count: int) -> None:
        """So many calls are open now."""
