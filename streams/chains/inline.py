"""Chains run in this very process: for tests, for `turngate gate`, and wherever a hanging processor hurts nobody."""

from __future__ import annotations

import time

from processors.calling import run_chain
from processors.chain import CallResult
from processors.contracts import Answer, IncomingMessage, Prompt, TurnContext
from processors.declare import Processor
from processors.deps import Deps
from processors.manifest import Manifest
from processors.outcomes import InputOutcome, OutputOutcome, PreOutcome
from processors.policy import FailurePolicy
from streams.chains.bound import bind
from streams.chains.errors import ChainsStoppedError
from streams.chains.limits import call_in_thread, call_limited


class InlineChainRunner:
    """A `ChainRunner` that runs async processors on the caller's event loop and sync ones in threads.

    Limits hold for whoever asks; a processor that is out of time may go on in the background.
    """

    def __init__(self, deps: Deps, *, policy: FailurePolicy | None = None) -> None:
        """Run the chains of `deps`; failures of pre-processors are met with `policy`."""
        self._deps = deps
        self._chains = bind(deps, policy or FailurePolicy())
        self._running = False

    @property
    def manifest(self) -> Manifest:
        """What the chains consist of."""
        return self._deps.manifest

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

    async def run_input(self, prompt: Prompt, context: TurnContext) -> InputOutcome:
        """Derive the prompt that is to be sent for `prompt`.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.input
        return await run_chain(chain, chain.open(prompt, context), _call, time.perf_counter)

    async def run_pre(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the pre-processors of the message's agent have it.

        Raises:
            ChainsStoppedError: the runner was stopped, or never started.
        """
        self._check_running()
        chain = self._chains.pre
        return await run_chain(chain, chain.open(incoming), _call, time.perf_counter)

    def _check_running(self) -> None:
        """Refuse calls before `start` and after `stop`."""
        if not self._running:
            raise ChainsStoppedError("the chain runner is not running: await start() before its first call")


async def _call(processor: Processor, subject: object, context: object) -> CallResult:
    """Call a processor of either sort under its limit."""
    return await (call_limited if processor.is_async else call_in_thread)(processor, subject, context)
