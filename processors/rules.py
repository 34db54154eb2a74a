"""Governance: rules for the whole organisation, on every message and on every tool call.

They run before everything else that looks at a message, and before every tool call, in the order of the operator's list.
They apply to every agent, cannot be ordered later, and fail closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from processors.declare import (
    LABELS,
    PRIORITY,
    TIMEOUT_S,
    F,
    Kind,
    Processor,
    as_processor,
    carried,
    declaring,
    decorator_of,
    list_of,
)
from processors.errors import DeclarationError

_RULES: tuple[Kind, ...] = ("governance", "tool_rule")
_REFUSED = {
    "agents": "a rule applies to every agent and cannot be scoped",
    "on_failure": "the failure of a rule always fails the turn",
    "priority": "rules run in the order of the list, before anything with a priority",
}


def message_rule(
    name: str,
    *,
    timeout_s: float = TIMEOUT_S,
    recent_turns_s: float | None = None,
    version: str | None = None,
    **refused: object,
) -> Callable[[F], F]:
    """Declare a function from an `IncomingMessage` to `Proceed` or `Block` as a rule on every message.

    Runs before the pre-processors, at most `timeout_s` seconds. With `recent_turns_s` the context's `recent_turns` holds
    the user's turns of so many seconds. `version` is by default a digest of the source.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be. A rule has no `agents`, no `on_failure`
            and no `priority`.
    """
    _refuse("governance", name, refused)
    return declaring("governance", name, version, timeout_s=timeout_s, recent_turns_s=recent_turns_s)


def tool_rule(
    name: str, *, timeout_s: float = TIMEOUT_S, version: str | None = None, **refused: object
) -> Callable[[F], F]:
    """Declare a function from a `ToolCallCheck` to `Allow` or `Deny` as a rule on every tool call.

    Runs before the call is published, at most `timeout_s` seconds. `version` is by default a digest of the source.

    Raises:
        DeclarationError: an argument, or the function's signature, cannot be. A rule has no `agents`, no `on_failure`
            and no `priority`.
    """
    _refuse("tool_rule", name, refused)
    return declaring("tool_rule", name, version, timeout_s=timeout_s)


def as_rule(member: object) -> Processor:
    """Return the description of `member`, an entry of the list of governance.

    Args:
        member: a decorated function, or an object with a `name`, a `kind` ("governance" for messages, "tool_rule" for
            tool calls) and a `process` or `execute` method.

    Raises:
        DeclarationError: it is neither.
    """
    found = carried(member)
    kind = found.kind if found is not None else getattr(member, "kind", None)
    for rule in _RULES:
        if kind == rule:
            rules = as_processor(member, rule)
            if rules.priority != PRIORITY:
                raise DeclarationError(f"{LABELS[rule]} {rules.name!r}: priority: {_REFUSED['priority']}")
            return rules
    if found is not None:
        raise DeclarationError(f"{found.name!r} is no rule but a processor: move it to {list_of(found.kind)}")
    label = getattr(member, "__qualname__", type(member).__qualname__)
    raise DeclarationError(
        f"{label} is no rule: decorate the function with @message_rule(name=...) or @tool_rule(name=...), or list an "
        'object with a `name`, a `process` method and `kind = "governance"` (for messages) or "tool_rule"'
    )


def _refuse(kind: Kind, name: object, given: Mapping[str, object]) -> None:
    """Refuse what a rule cannot have, and say why."""
    for wrong in given:
        why = _REFUSED.get(wrong, "there is no such argument")
        raise DeclarationError(f"@{decorator_of(kind)}({name!r}): {wrong}: {why}")
