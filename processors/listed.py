"""The lists of a `Deps`, checked entry by entry: an error names the list and the position."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from processors.agents import Agent
from processors.budgets import Budget
from processors.declare import KINDS, Deriving, Kind, Processor, as_deriving, as_processor, list_of
from processors.errors import DeclarationError, DepsError, RequiredControlError
from processors.history import LastMessages, TokenLimit
from processors.rules import as_rule
from processors.tools import Tool, as_tool

T = TypeVar("T")


def members(kind: Kind, given: Iterable[object]) -> tuple[Processor, ...]:
    """Return the processors of the list of `kind`, in the order given."""
    listed = list_of(kind)
    found = _each(listed, "processors", given, lambda member: as_processor(member, kind))
    _once(listed, found)
    return found


def tools(given: Iterable[object]) -> tuple[Tool, ...]:
    """Return the tools of the list."""
    found = _each("tools", "tools", given, as_tool)
    _once("tools", found)
    return found


def agents(given: Iterable[object], offered: Sequence[Tool]) -> tuple[Agent, ...]:
    """Return the agents of the list, whose tools must be among those `offered`."""
    found = _each("agents", "Agent(...)", given, lambda one: _instance(one, Agent))
    _once("agents", found)
    known = [one.name for one in offered]
    for agent in found:
        unknown = [name for name in agent.tools or () if name not in known]
        if unknown:
            raise DepsError(
                f"Deps: agent {agent.name!r} may call {', '.join(unknown)}, which is no tool of this Deps. "
                f"Tools: {', '.join(known) or 'none'}. Add it to tools, or take it from the agent."
            )
    return found


def budgets(given: Iterable[object]) -> tuple[Budget, ...]:
    """Return the budgets of the list."""
    return _each("budgets", "Budget(...)", given, lambda one: _instance(one, Budget))


def rules(given: Iterable[object]) -> tuple[Processor, ...]:
    """Return the rules of the list of governance, in the order given."""
    found = _each("governance", "rules", given, as_rule)
    _once("governance", found)
    return found


def derivation(history: object, prompt_builder: object) -> tuple[Processor, ...]:
    """Return the functions of the operator's that derive a prompt: those that are given, in the order they run in."""
    found = []
    own = history if not isinstance(history, LastMessages | TokenLimit) else None
    for name, function, what in (
        ("history", own, "LastMessages(...), TokenLimit(...), or a function from messages to messages"),
        ("prompt_builder", prompt_builder, "a function from a Prompt to a Prompt, or to a text for the system prompt"),
    ):
        if function is None:
            continue
        if not callable(function) or inspect.isclass(function):
            raise DepsError(f"Deps: {name} must be {what}")
        try:
            found.append(as_deriving(cast("Deriving", name), function))
        except DeclarationError as error:
            raise DepsError(f"Deps: {error}") from error
    return tuple(found)


def of_any_kind(given: object, source: str) -> Processor:
    """Return the processor that `source` names, an object that says of which `kind` it is.

    Raises:
        DepsError: it is no processor.
    """
    kind = getattr(given, "kind", None)
    if kind not in KINDS:
        raise DepsError(
            f"{source} is no processor: it must be a decorated function, a factory, an object with `kind`, `name` and "
            "`process`, or a list of these"
        )
    try:
        return as_processor(given, kind)
    except DeclarationError as error:
        raise DepsError(f"{source}: {error}") from error


def one_of(name: str, given: object, choices: Sequence[str]) -> object:
    """Return an argument that is one of a few words."""
    if given not in choices:
        raise DepsError(f"Deps: {name} must be {' or '.join(json.dumps(choice) for choice in choices)}")
    return given


def flag(name: str, given: object) -> bool:
    """Return an argument that is True or False."""
    if not isinstance(given, bool):
        raise DepsError(f"Deps: {name} must be True or False")
    return given


def required(given: Iterable[str], controls: Sequence[Processor]) -> tuple[str, ...]:
    """Return the names of required controls; all of them are among the `controls` that are active.

    Raises:
        RequiredControlError: one is not.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DepsError(f"Deps: required_controls must be a list of names, not {type(given).__name__}")
    names = tuple(given)
    active = {member.name for member in controls}
    missing = [str(name) for name in names if name not in active]
    if missing:
        raise RequiredControlError(
            f"required_controls: not active: {', '.join(missing)}. Active controls: "
            f"{', '.join(sorted(active)) or 'none'}. Add them to governance, input_processors or output_processors."
        )
    return names


def _each(listed: str, of: str, given: Iterable[object], check: Callable[[object], T]) -> tuple[T, ...]:
    """Return what `check` makes of each entry."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DepsError(f"Deps: {listed} must be a list of {of}, not {type(given).__name__}")
    found: list[T] = []
    for position, one in enumerate(given):
        try:
            found.append(check(one))
        except DeclarationError as error:
            raise DepsError(f"Deps: {listed}[{position}]: {error}") from error
    return tuple(found)


def _instance(one: object, kind: type[T]) -> T:
    """Return an entry that must be of a class of ours."""
    if not isinstance(one, kind):
        raise DeclarationError(f"of type {type(one).__name__}: write {kind.__name__}(...)")
    return one


def _once(listed: str, found: Sequence[Any]) -> None:
    """Check that no name is in a list twice."""
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DepsError(f"Deps: {listed} has more than one of: {', '.join(twice)}. Give each its own name.")
