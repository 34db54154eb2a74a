"""Governance as it is declared: rules on messages and on tool calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from processors import (
    Allow,
    DeclarationError,
    Deny,
    IncomingMessage,
    Proceed,
    ToolCall,
    ToolCallCheck,
    TurnContext,
    input_processor,
    message_rule,
    tool_rule,
)
from processors.rules import as_rule


@message_rule(name="language")
async def language(incoming: IncomingMessage) -> Proceed:
    """Let everything pass."""
    return Proceed(metadata={"characters": len(incoming.text)})


@tool_rule(name="no-refunds", timeout_s=3, version="7")
def no_refunds(check: ToolCallCheck, context: TurnContext) -> Allow | Deny:
    """Deny one tool."""
    return Deny(f"not for {context.agent}") if check.call.name == "refund" else Allow()


class Quota:
    """A rule on tool calls, as an object."""

    name = "quota"
    kind = "tool_rule"

    def process(self, check: ToolCallCheck) -> Allow:
        """Allow every call."""
        del check
        return Allow()


def test_rules_are_known_by_their_kind() -> None:
    """Limits are those of processors that run once, unless another is given; functions stay functions."""
    first, second, third = as_rule(language), as_rule(no_refunds), as_rule(Quota())
    assert (first.kind, first.name, first.is_async, first.timeout_s) == ("governance", "language", True, 180)
    assert (second.kind, second.name, second.version, second.timeout_s) == ("tool_rule", "no-refunds", "7", 3)
    assert (third.kind, third.name, third.timeout_s) == ("tool_rule", "quota", 180)
    check = ToolCallCheck(ToolCall(id="1", name="refund"))
    assert no_refunds(check, TurnContext(agent="sales")) == Deny("not for sales")
    assert as_rule(first) is first


def made(**attributes: object) -> object:
    """Return an object with these attributes and a method that does the work."""
    return type("Made", (), {"process": lambda *_: Allow(), **attributes})()


@input_processor(name="inputs")
def inputs(prompt: Any) -> Any:
    """Be no rule."""
    return prompt


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: message_rule(name="x", agents=["a"]), r"@message_rule\('x'\): agents: .*every agent"),
        (lambda: tool_rule(name="x", on_failure="skip"), r"@tool_rule\('x'\): on_failure: .*always fails the turn"),
        (lambda: message_rule(name="x", priority=1), "priority: rules run in the order of the list"),
        (lambda: tool_rule(name="x", colour="red"), "colour: there is no such argument"),
        (lambda: message_rule(name=""), "name"),
        (lambda: tool_rule(name="x", timeout_s=0), "timeout_s"),
        (lambda: tool_rule(name="x")(Quota), "@tool_rule decorates functions"),
        (lambda: as_rule(made(name="x")), "is no rule: .*@message_rule.*kind = "),
        (lambda: as_rule(made(kind="tool_rule")), r"is no tool rule: decorate the function with @tool_rule"),
        (lambda: as_rule(made(name="x", kind="governance", agents=["a"])), "every agent"),
        (lambda: as_rule(made(name="x", kind="tool_rule", on_failure="block")), "on_failure"),
        (lambda: as_rule(made(name="x", kind="tool_rule", priority=5)), "order of the list"),
        (lambda: as_rule(inputs), "'inputs' is no rule but a processor: move it to input_processors"),
    ],
)
def test_a_rule_cannot_be_scoped_ordered_or_loosened(declare: Callable[[], object], message: str) -> None:
    """Each refusal says why, or what to do instead."""
    with pytest.raises(DeclarationError, match=message):
        declare()
