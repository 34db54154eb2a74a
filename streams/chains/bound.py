"""The three chains that a turn worker runs, made ready from what is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic

from processors.chain import Chain, InputChain, InputRun, M, OutputChain, OutputRun, PreChain, Run
from processors.declare import Declaration, Processor
from processors.deps import Deps
from processors.manifest import Manifest
from processors.policy import FailurePolicy


@dataclass(frozen=True)
class Bound(Generic[M]):
    """The chains of one `Deps`: with the code where they run, as declarations where they are only followed."""

    output: OutputChain[M]
    input: InputChain[M]
    pre: PreChain[M]

    def of(self, run: Run) -> Chain[M, Any, Any]:
        """Return the chain that a run belongs to."""
        if isinstance(run, OutputRun):
            return self.output
        return self.input if isinstance(run, InputRun) else self.pre

    def blocks(self, run: Run) -> bool:
        """Tell whether a run may block the thread it is in: some member of its chain is not async."""
        return not all(member.is_async for member in self.of(run).members)


def bind(deps: Deps, policy: FailurePolicy) -> Bound[Processor]:
    """Return the chains with their code."""
    return Bound(
        OutputChain(deps.output_processors), InputChain(deps.input_processors), PreChain(deps.pre_processors, policy)
    )


def follow(manifest: Manifest, policy: FailurePolicy) -> Bound[Declaration]:
    """Return the chains without their code."""
    return Bound(OutputChain(manifest.output), InputChain(manifest.input), PreChain(manifest.pre, policy))
