"""What a `Deps` declares, shown: its chains in the order they run in, what turns are made of, and how answers go out."""

from __future__ import annotations

from typing import Any

from processors import Agent, Budget, Manifest
from processors.declare import Declaration
from processors.history import HistoryWindow, LastMessages
from streams.cli import output

_COLUMNS = ("chain", "position", "processor", "version", "incremental", "from")


def show(manifest: Manifest, spec: str | None, *, as_json: bool) -> None:
    """Print what is declared at `spec`: with `as_json` an object a line, the one about the release last."""
    members = [_member(position, member, spec) for chain in _chains(manifest) for position, member in enumerate(chain)]
    if as_json:
        for row in (*members, *_made_of(manifest)):
            output.json_line(row)
        output.json_line(_release(manifest))
        return
    output.line()
    if members:
        output.table(_COLUMNS, [[cell(member[column]) for column in _COLUMNS] for member in members])
        output.line()
    for sentence in _sentences(manifest):
        output.line(sentence)
    output.line(_release_sentence(manifest.release_mode, manifest.window_chars))


def cell(value: object) -> str:
    """Return a value as it stands in a table."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _chains(manifest: Manifest) -> tuple[tuple[Declaration, ...], ...]:
    """Return the chains in the order in which a turn meets them."""
    before = tuple((member,) for member in manifest.derivation)
    return (
        manifest.governance,
        manifest.pre,
        *before,
        manifest.input,
        manifest.output,
        manifest.tool_rule,
        manifest.post,
    )


def _member(position: int, member: Declaration, spec: str | None) -> dict[str, Any]:
    lookback = member.incremental.lookback_chars if member.incremental is not None else None
    return {
        "chain": member.kind,
        "position": position,
        "processor": member.name,
        "version": member.version,
        "incremental": None if lookback is None else f"lookback {lookback}",
        "lookback_chars": lookback,
        "timeout_s": member.timeout_s,
        "from": spec,
    }


def _made_of(manifest: Manifest) -> list[dict[str, Any]]:
    """Return a row for each tool, agent and budget."""
    return [
        *({"tool": tool.name, "timeout_s": tool.timeout_s} for tool in manifest.tools),
        *(_agent(agent) for agent in manifest.agents),
        *(_budget(budget) for budget in manifest.budgets),
    ]


def _agent(agent: Agent) -> dict[str, Any]:
    # Not its system prompt: that is text, and this is what one prints into a log.
    return {
        "agent": agent.name,
        "model": agent.model,
        "tools": None if agent.tools is None else list(agent.tools),
        "max_steps": agent.max_steps,
        "history": _window(agent.history),
    }


def _budget(budget: Budget) -> dict[str, Any]:
    return {"budget": budget.per, "tokens": budget.tokens, "per_s": budget.per_s, "only": budget.only}


def _release(manifest: Manifest) -> dict[str, Any]:
    return {
        "release": manifest.release_mode,
        "window": manifest.window,
        "window_chars": manifest.window_chars,
        "required_controls": list(manifest.required_controls),
        "history": "own function" if manifest.own_history else _window(manifest.history),
        "gate_post_processed": manifest.gate_post_processed,
        "carry_across_steps": manifest.carry_across_steps,
    }


def _window(window: HistoryWindow | None) -> str | None:
    if window is None:
        return None
    return f"{window.n} messages" if isinstance(window, LastMessages) else f"{window.tokens} tokens"


def _sentences(manifest: Manifest) -> list[str]:
    """Return what is said of tools, agents, budgets and history, as far as there are any."""
    said = []
    if manifest.tools:
        said.append(f"Tools: {', '.join(tool.name for tool in manifest.tools)}.")
    if manifest.agents:
        said.append(f"Agents: {', '.join(agent.name for agent in manifest.agents)}.")
    for budget in manifest.budgets:
        whom = f"{budget.per} {budget.only}" if budget.only is not None else f"each {budget.per}"
        said.append(f"Budget: {budget.tokens:,} tokens in {budget.per_s:g} s for {whom}.")
    if manifest.history is not None:
        said.append(f"History: the last {_window(manifest.history)}.")
    if manifest.gate_post_processed:
        said.append("What post-processors make of a reply passes the output chain again.")
    if manifest.carry_across_steps:
        said.append("The answers of a turn's steps are judged as one text.")
    return said


def _release_sentence(mode: str, window_chars: int) -> str:
    if mode == "live":
        return "Release: live. No output processor is declared, so answers go out as they come, unjudged."
    if mode == "whole":
        return "Release: whole. An answer goes out once it is complete and every output processor has passed it."
    if mode == "scan":
        return "Release: scan. The answer is read once, and what can no longer change goes out at once."
    last = "character" if window_chars == 1 else f"{window_chars} characters"
    return f"Release: incremental. All but the last {last} of what the chain makes go out at once."
