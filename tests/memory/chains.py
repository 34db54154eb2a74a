"""A chain runner without threads or limits: the real chains, run here and now, so that simulations are deterministic."""

from __future__ import annotations

from processors import Deps, FailurePolicy, Manifest, TurnContext
from processors.calling import call_directly, run_chain
from processors.contracts import Answer, IncomingMessage, Prompt, Reply, ToolCallCheck
from processors.outcomes import InputOutcome, OutputOutcome, PostOutcome, PreOutcome, ToolOutcome
from streams.chains.bound import bind
from streams.gate.policy import Policy
from streams.policies import with_chains


class DirectChainRunner:
    """`streams.chains.ChainRunner`, for processors that never hang. Reports say that everything took no time."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._chains = bind(deps, FailurePolicy())

    @property
    def manifest(self) -> Manifest:
        """What the chains consist of."""
        return self._deps.manifest

    async def start(self) -> None:
        """Do nothing: there is nothing to make ready."""

    async def stop(self) -> None:
        """Do nothing: there is nothing to end."""

    async def run_output(self, answer: Answer) -> OutputOutcome:
        """Judge an answer."""
        return await run_chain(self._chains.output, self._chains.output.open(answer), call_directly, _no_time)

    async def run_input(self, prompt: Prompt, context: TurnContext, *, history: int = 0) -> InputOutcome:
        """Derive a prompt."""
        opened = self._chains.input.open(prompt, context, history=history)
        return await run_chain(self._chains.input, opened, call_directly, _no_time)

    async def run_pre(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the pre-processors have a message."""
        return await run_chain(self._chains.pre, self._chains.pre.open(incoming), call_directly, _no_time)

    async def run_governance(self, incoming: IncomingMessage) -> PreOutcome:
        """Let the message rules have a message."""
        chain = self._chains.governance
        return await run_chain(chain, chain.open(incoming), call_directly, _no_time)

    async def run_tool_rules(self, check: ToolCallCheck) -> ToolOutcome:
        """Ask the tool rules about a call."""
        chain = self._chains.tool_rules
        return await run_chain(chain, chain.open(check), call_directly, _no_time)

    async def run_post(self, reply: Reply) -> PostOutcome:
        """Let the post-processors have a reply."""
        chain = self._chains.post
        return await run_chain(chain, chain.open(reply), call_directly, _no_time)


def policy_of(deps: Deps, base: Policy | None = None) -> Policy:
    """Return a policy for `deps`, otherwise as `base`."""
    return with_chains(base or Policy(), deps.manifest)


def _no_time() -> float:
    return 0.0
