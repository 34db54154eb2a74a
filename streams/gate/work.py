"""What a turn waits for that somebody must do: run a chain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from streams.gate.policy import Policy
from streams.gate.state import Phase, Turn


@dataclass(frozen=True, slots=True)
class RunGovernance:
    """Show the turn's message to the organisation's rules."""


@dataclass(frozen=True, slots=True)
class RunPre:
    """Run the pre-processors on the turn's message."""


@dataclass(frozen=True, slots=True)
class RunInput:
    """Run the input chain for `step`."""

    step: int


@dataclass(frozen=True, slots=True)
class RunOutput:
    """Run the output chain on the first `upto` code points of the attempt's buffer: on all of it if `final`."""

    step: int
    attempt: int
    upto: int
    final: bool


@dataclass(frozen=True, slots=True)
class RunRules:
    """Show the tool calls of `step` to the organisation's rules."""

    step: int


@dataclass(frozen=True, slots=True)
class RunPost:
    """Run the post-processors on the whole reply."""


Work: TypeAlias = RunGovernance | RunPre | RunInput | RunOutput | RunRules | RunPost


def work_of(turn: Turn, policy: Policy) -> Work | None:
    """Return the chain run that `turn` waits for, if any. Equal work is the same work: doing it once is enough."""
    match turn.phase:
        # The first one is asked for after every frame.
        case Phase.MODEL if policy.mode != "incremental" or turn.request.delivery != "stream":
            return None
        case Phase.MODEL:
            new = len(turn.buffer) > len(turn.carried)
            return RunOutput(turn.step, turn.attempt, len(turn.buffer), final=False) if new else None
        case Phase.GOVERNANCE:
            return RunGovernance()
        case Phase.PRE:
            return RunPre()
        case Phase.INPUT:
            return RunInput(turn.step)
        case Phase.SETTLING:
            return RunOutput(turn.step, turn.attempt, len(turn.buffer), final=True)
        case Phase.RULES:
            return RunRules(turn.step)
        case Phase.POST:
            return RunPost()
        case _:
            return None
