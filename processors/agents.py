"""Agents: the personas that the operator declares, each with its own system prompt, model, parameters and tools.

An agent decides what a model is asked with. It decides nothing about controls: those apply to all agents alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from processors.checks import MAX_NAME, is_count, is_name
from processors.errors import DeclarationError, MalformedVerdictError
from processors.history import HistoryWindow, LastMessages, TokenLimit
from processors.plain import plain_mapping, plain_text


@dataclass(frozen=True)
class Agent:
    """What turns of the agent called `name` are asked with. Can be sent to another process.

    `system` comes before the request's own system text; `model` and `params` (JSON values, such as a temperature) win over
    the request's.
    `tools` are the names of the tools it may call: None is all that the `Deps` has, () is none. `max_steps` is how many
    model calls a turn may take at most, and `history` which messages of the thread ride along; None leaves either to what
    applies to all agents.
    """

    name: str
    system: str | None = None
    model: str | None = None
    params: Mapping[str, Any] | None = None
    tools: tuple[str, ...] | None = None
    max_steps: int | None = None
    history: HistoryWindow | None = None

    def __post_init__(self) -> None:
        if not is_name(self.name) or "/" in self.name:
            raise DeclarationError(
                f"agent {self.name!r}: the name must be a text of 1 to {MAX_NAME} printable characters without a slash"
            )
        try:
            if self.system is not None:
                _set(self, "system", plain_text(self.system, "system"))
            if self.params is not None:
                _set(self, "params", plain_mapping(self.params, "params"))
        except MalformedVerdictError as error:
            raise DeclarationError(f"agent {self.name!r}: {error}") from error
        if self.tools is not None:
            _set(self, "tools", _names(self.tools, self.name))
        problem = _problem(self)
        if problem is not None:
            raise DeclarationError(f"agent {self.name!r}: {problem}")


def _names(given: object, agent: str) -> tuple[str, ...]:
    """Return the names of tools; a bare text would otherwise be taken for its letters."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DeclarationError(f"agent {agent!r}: tools must be a list of the names of tools, or None for all")
    names = tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise DeclarationError(
            f"agent {agent!r}: tools must hold names only: write the tool's name, and list it in Deps"
        )
    return tuple(dict.fromkeys(names))


def _problem(agent: Agent) -> str | None:
    """Return what is wrong with an agent's other fields, or None."""
    if agent.model is not None and not is_name(agent.model):
        return "model must be a text of printable characters, or None"
    if agent.max_steps is not None and not is_count(agent.max_steps):
        return "max_steps must be an int, 1 or more, or None"
    if agent.history is not None and not isinstance(agent.history, LastMessages | TokenLimit):
        return "history must be LastMessages(...) or TokenLimit(...), or None"
    return None


def _set(agent: Agent, name: str, value: object) -> None:
    """Set a field of a frozen agent while it is being made."""
    object.__setattr__(agent, name, value)
