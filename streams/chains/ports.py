"""What the turn worker asks for: run a chain of processors somewhere, and say what it came to."""

from __future__ import annotations

from typing import Protocol

from processors.contracts import Answer, IncomingMessage, Prompt, Reply, ToolCallCheck, TurnContext
from processors.manifest import Manifest
from processors.outcomes import InputOutcome, OutputOutcome, PostOutcome, PreOutcome, ToolOutcome


class ChainRunner(Protocol):
    """Runs chains off the event loop, each member under its limit.

    Any number of calls may be under way at once. A member that throws, answers nonsense, runs out of time or takes its
    process down is part of the outcome, never an exception of these methods. Cancelling a call drops its outcome.
    """

    @property
    def manifest(self) -> Manifest:
        """What the chains consist of; known once `start` has returned."""

    async def start(self) -> None:
        """Make ready to run.

        Raises:
            DepsError: the operator's processors cannot be loaded: says why.
            ChainStartError: where they run cannot be set up.
        """

    async def stop(self) -> None:
        """End everything under way, at once; calls still waiting raise `ChainsStoppedError`. Harmless when stopped."""

    async def run_output(self, answer: Answer) -> OutputOutcome:
        """Judge an answer, or with `complete=False` a prefix of one.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """

    async def run_input(self, prompt: Prompt, context: TurnContext, *, history: int = 0) -> InputOutcome:
        """Derive the prompt that is to be sent for `prompt`, whose first `history` messages are from earlier turns.

        The operator's own history chooses among those, then the prompt builder and the input processors do their work.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """

    async def run_pre(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the pre-processors of the message's agent have it.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """

    async def run_governance(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the message rules have a message, before any pre-processor.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """

    async def run_tool_rules(self, check: ToolCallCheck) -> ToolOutcome:
        """Ask the tool rules whether a call may be made.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """

    async def run_post(self, reply: Reply) -> PostOutcome:
        """Let the post-processors of the turn's agent have its final reply.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
