"""What the operator declares, without the code: for those who decide about chains but do not run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from processors.agents import Agent
from processors.budgets import Budget
from processors.declare import KINDS, Declaration, Kind
from processors.history import HistoryWindow
from processors.tools import ToolSpec

Window: TypeAlias = Literal["widest", "sum"]
ReleaseMode: TypeAlias = Literal["live", "whole", "incremental", "scan"]


@dataclass(frozen=True)
class Manifest:
    """What is declared, without the code: for those who decide about chains but do not run them.

    Each list is in the order its chain runs in, or, where nothing runs in a row, in that of the `Deps`. Can be sent to
    another process.
    """

    output: tuple[Declaration, ...] = ()
    input: tuple[Declaration, ...] = ()
    pre: tuple[Declaration, ...] = ()
    post: tuple[Declaration, ...] = ()
    required_controls: tuple[str, ...] = ()
    window: Window = "widest"
    governance: tuple[Declaration, ...] = ()
    tool_rule: tuple[Declaration, ...] = ()
    #: The operator's own history and prompt builder, those of the two that are declared.
    derivation: tuple[Declaration, ...] = ()
    #: The window over each thread's messages; None where the operator gives a function of their own, or nothing.
    history: HistoryWindow | None = None
    tools: tuple[ToolSpec, ...] = ()
    agents: tuple[Agent, ...] = ()
    budgets: tuple[Budget, ...] = ()
    gate_post_processed: bool = False
    carry_across_steps: bool = False

    def chain(self, kind: Kind) -> tuple[Declaration, ...]:
        """Return the members of one kind, in the order they run in."""
        members: tuple[Declaration, ...] = getattr(self, kind)
        return members

    @property
    def everything(self) -> tuple[Declaration, ...]:
        """Every member, in the order in which a turn meets them."""
        before = (*self.governance, *self.pre, *self.derivation, *self.input)
        return (*before, *self.output, *self.tool_rule, *self.post)

    def __bool__(self) -> bool:
        """Tell whether any code is declared that a chain would run. Tools and agents are no such thing."""
        return bool(self.derivation) or any(self.chain(kind) for kind in KINDS)

    def agent(self, name: str) -> Agent | None:
        """Return the agent of that name, or None if none is declared."""
        return next((agent for agent in self.agents if agent.name == name), None)

    @property
    def recent_turns_s(self) -> float:
        """How far back, in seconds, somebody asks for users' turns; 0 if nobody does."""
        return max((member.recent_turns_s or 0.0 for member in (*self.governance, *self.pre)), default=0.0)

    @property
    def own_history(self) -> bool:
        """Whether a function of the operator's chooses which messages ride along: `run_input` calls it."""
        return any(member.kind == "history" for member in self.derivation)

    @property
    def derives(self) -> bool:
        """Whether `run_input` can change a prompt: without this, what it is given is what the model gets."""
        return bool(self.input or self.derivation)

    @property
    def release_mode(self) -> ReleaseMode:
        """How answers are released: as they come, after the whole answer is judged, prefix by prefix, or scanned."""
        if not self.output:
            return "live"
        if all(member.scans and member.linear_time for member in self.output):
            return "scan"
        return "incremental" if all(member.incremental is not None for member in self.output) else "whole"

    @property
    def window_chars(self) -> int:
        """How many characters at the end of the chain's output an incremental release holds back."""
        lookbacks = [member.incremental.lookback_chars for member in self.output if member.incremental is not None]
        return sum(lookbacks) if self.window == "sum" else max(lookbacks, default=0)
