"""Chains run in this very process: for tests, for `turngate gate`, and wherever a hanging processor hurts nobody."""

from __future__ import annotations

import time

from processors.board import Plan
from processors.calling import run_chain
from processors.chain import CallResult
from processors.contracts import Answer, IncomingMessage, Prompt, Reply, ToolCallCheck, TurnContext
from processors.declare import Processor
from processors.deps import Deps
from processors.errors import DeploymentError
from processors.manifest import Manifest
from processors.outcomes import InputOutcome, OutputOutcome, PostOutcome, PreOutcome, ToolOutcome
from processors.policy import FailurePolicy
from streams.chains.bound import bind
from streams.chains.errors import NOTHING_TO_DEPLOY, ChainsStoppedError
from streams.chains.limits import call_in_thread, call_limited
from streams.chains.ports import ChainRunner


class InlineChainRunner:
    """A `ChainRunner` that runs async processors on the caller's event loop and sync ones in threads.

    Limits hold for whoever asks; a processor that is out of time may go on in the background.
    """

    def __init__(self, deps: Deps, *, policy: FailurePolicy | None = None) -> None:
        """Run the chains of `deps`; failures of pre- and post-processors are met with `policy`."""
        self._deps = deps
        self._chains = bind(deps, policy or FailurePolicy())
        self._running = False

    @property
    def manifest(self) -> Manifest:
        """What the chains consist of."""
        return self._deps.manifest

    @property
    def available(self) -> tuple[str, ...]:
        """Which code could be deployed: none. What is declared here is all that is run here."""
        return ()

    async def install(self, plan: Plan) -> ChainRunner:
        """Return this runner for an empty plan; nothing can be deployed here.

        Raises:
            DeploymentError: there is something in the plan.
        """
        if plan.choices:
            raise DeploymentError(NOTHING_TO_DEPLOY)
        return self

    def uninstall(self, chains: ChainRunner) -> None:
        """Do nothing: there is nothing else than what is declared."""

    async def start(self) -> None:
        """Take calls from now on."""
        self._running = True

    async def stop(self) -> None:
        """Take no more calls; those under way are left to their callers."""
        self._running = False

    async def run_output(self, answer: Answer) -> OutputOutcome:
        """Judge an answer, or with `complete=False` a prefix of one.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.output
        return await run_chain(chain, chain.open(answer), _call, time.perf_counter)

    async def run_input(self, prompt: Prompt, context: TurnContext, *, history: int = 0) -> InputOutcome:
        """Derive the prompt that is to be sent for `prompt`, whose first `history` messages are from earlier turns.

        The operator's own history chooses among those, then the prompt builder and the input processors do their work.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.input
        return await run_chain(chain, chain.open(prompt, context, history=history), _call, time.perf_counter)

    async def run_pre(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the pre-processors of the message's agent have it.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.pre
        return await run_chain(chain, chain.open(incoming), _call, time.perf_counter)

    async def run_governance(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the message rules have a message, before any pre-processor.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.governance
        return await run_chain(chain, chain.open(incoming), _call, time.perf_counter)

    async def run_tool_rules(self, check: ToolCallCheck) -> ToolOutcome:
        """Ask the tool rules whether a call may be made.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.tool_rules
        return await run_chain(chain, chain.open(check), _call, time.perf_counter)

    async def run_post(self, reply: Reply) -> PostOutcome:
        """Let the post-processors of the turn's agent have its final reply.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.post
        return await run_chain(chain, chain.open(reply), _call, time.perf_counter)

    def _check_running(self) -> None:
        """Refuse calls before `start` and after `stop`."""
        if not self._running:
            raise ChainsStoppedError("the chain runner is not running: await start() before its first call")


async def _call(processor: Processor, subject: object, context: object) -> CallResult:
    """Call a processor of either sort under its limit."""
    return await (call_limited if processor.is_async else call_in_thread)(processor, subject, context)
