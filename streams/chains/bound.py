"""The chains that a turn worker runs, made ready from what is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from processors.chain import (
    Chain,
    GovernanceRun,
    InputChain,
    InputRun,
    M,
    OutputChain,
    OutputRun,
    PostRun,
    Run,
    ToolRuleChain,
    ToolRun,
)
from processors.declare import Declaration, Processor
from processors.deps import Deps
from processors.manifest import Manifest
from processors.message_chains import GovernanceChain, PostChain, PreChain
from processors.policy import FailurePolicy


@dataclass(frozen=True)
class Bound(Generic[M]):
    """The chains of one `Deps`: with the code where they run, as declarations where they are only followed."""

    output: OutputChain[M]
    input: InputChain[M]
    pre: PreChain[M]
    governance: GovernanceChain[M]
    tool_rules: ToolRuleChain[M]
    post: PostChain[M]

    def of(self, run: Run) -> Chain[M, Any, Any]:
        """Return the chain that a run belongs to."""
        match run:
            case OutputRun():
                return self.output
            case InputRun():
                return self.input
            case ToolRun():
                return self.tool_rules
            case PostRun():
                return self.post
            case GovernanceRun():  # one of message rules is a PreRun too
                return self.governance
            case _:
                return self.pre

    def blocks(self, run: Run) -> bool:
        """Tell whether a run may block the thread it is in: some member of its chain is not async."""
        return not all(member.is_async for member in self.of(run).members)


def bind(deps: Deps, policy: FailurePolicy) -> Bound[Processor]:
    """Return the chains with their code."""
    return Bound(
        OutputChain(deps.output_processors),
        InputChain(deps.input_processors, deps.derivation),
        PreChain(deps.pre_processors, policy),
        GovernanceChain(deps.chain("governance"), policy),
        ToolRuleChain(deps.chain("tool_rule")),
        PostChain(deps.post_processors, policy),
    )


def follow(manifest: Manifest, policy: FailurePolicy) -> Bound[Declaration]:
    """Return the chains without their code."""
    return Bound(
        OutputChain(manifest.output),
        InputChain(manifest.input, manifest.derivation),
        PreChain(manifest.pre, policy),
        GovernanceChain(manifest.governance, policy),
        ToolRuleChain(manifest.tool_rule),
        PostChain(manifest.post, policy),
    )
