"""The turns' policy, as far as it follows from what the operator declares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from processors.agents import Agent
from processors.effective import chain_id, pins
from processors.manifest import Manifest
from processors.tools import ToolSpec
from streams.gate.entries import Persona
from streams.gate.policy import Policy

#: How many steps a turn may take where its agent does not say.
MAX_STEPS = 8


def with_chains(base: Policy, manifest: Manifest) -> Policy:
    """Return `base` with what follows from the declared chains, agents and tools."""
    tools = {spec.definition.name: spec for spec in manifest.tools}
    return replace(
        base,
        mode=manifest.release_mode,
        window=manifest.window_chars,
        carry=manifest.carry_across_steps,
        # Budgets are looked at where the organisation's rules are.
        has_governance=bool(manifest.governance or manifest.budgets),
        has_pre=bool(manifest.pre),
        has_input=manifest.derives,
        has_rules=bool(manifest.tool_rule),
        has_post=bool(manifest.post),
        chain=pins(manifest),
        pin=chain_id(manifest),
        personas={agent.name: _persona(agent, tools.values()) for agent in manifest.agents},
        default_persona=_persona(Agent(name="default"), tools.values()) if tools and not manifest.agents else None,
    )


def _persona(agent: Agent, tools: Iterable[ToolSpec]) -> Persona:
    offered = [spec for spec in tools if agent.tools is None or spec.definition.name in agent.tools]
    return Persona(
        system=agent.system,
        model=agent.model,
        params=dict(agent.params) if agent.params is not None else None,
        tools=tuple(spec.definition for spec in offered),
        timeouts={spec.definition.name: spec.timeout_s for spec in offered},
        max_steps=MAX_STEPS if agent.max_steps is None else agent.max_steps,
    )
