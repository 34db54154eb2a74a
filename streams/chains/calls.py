"""The calls of a chain runner: each opens a run of one of its chains, and has it brought to its outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from processors.contracts import Answer, IncomingMessage, Prompt, Reply, ToolCallCheck, TurnContext
from processors.declare import Declaration
from processors.outcomes import InputOutcome, OutputOutcome, PostOutcome, PreOutcome, ToolOutcome
from streams.chains.bound import Bound


class ChainCalls(ABC):
    """What runs the chains of `_running`, wherever `_finish` does."""

    async def run_output(self, answer: Answer) -> OutputOutcome:
        """Judge an answer, or with `complete=False` a prefix of one.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        outcome: OutputOutcome = await self._finish(self._running().output.open(answer))
        return outcome

    async def run_input(self, prompt: Prompt, context: TurnContext, *, history: int = 0) -> InputOutcome:
        """Derive the prompt that is to be sent for `prompt`, whose first `history` messages are from earlier turns.

        The operator's own history chooses among those, then the prompt builder and the input processors do their work.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        outcome: InputOutcome = await self._finish(self._running().input.open(prompt, context, history=history))
        return outcome

    async def run_pre(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the pre-processors of the message's agent have it.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        outcome: PreOutcome = await self._finish(self._running().pre.open(incoming))
        return outcome

    async def run_governance(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the message rules have a message, before any pre-processor.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        outcome: PreOutcome = await self._finish(self._running().governance.open(incoming))
        return outcome

    async def run_tool_rules(self, check: ToolCallCheck) -> ToolOutcome:
        """Ask the tool rules whether a call may be made.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        outcome: ToolOutcome = await self._finish(self._running().tool_rules.open(check))
        return outcome

    async def run_post(self, reply: Reply) -> PostOutcome:
        """Let the post-processors of the turn's agent have its final reply.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        outcome: PostOutcome = await self._finish(self._running().post.open(reply))
        return outcome

    @abstractmethod
    def _running(self) -> Bound[Declaration]:
        """Return the chains, if they can be run."""

    @abstractmethod
    async def _finish(self, step: Any) -> Any:
        """Bring a run to its outcome; return an outcome as it is."""
