"""Agents: what may be said of one, and what not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from processors import Agent, DeclarationError, LastMessages


def test_an_agent_is_plain_data() -> None:
    """What is given is copied, so that nobody changes it later; it can be compared and sent to another process."""
    params: dict[str, Any] = {"temperature": 0.2, "stop": ["\n"]}
    tools: Any = ["a", "b", "a"]  # a list will do
    agent = Agent(
        "support", system="Be kind.", model="m", params=params, tools=tools, max_steps=4, history=LastMessages(9)
    )
    params["stop"].append("x")
    assert agent.params == {"temperature": 0.2, "stop": ["\n"]}
    assert agent.tools == ("a", "b")
    assert pickle.loads(pickle.dumps(agent)) == agent  # noqa: S301 - just written here
    assert agent != Agent("support")


def test_an_agent_needs_no_more_than_a_name() -> None:
    """Then it has all the tools there are; () is none of them."""
    assert Agent("a").tools is None
    assert Agent("a", tools=()).tools == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Agent(""), "the name must be"),
        (lambda: Agent("a/b"), "without a slash"),
        (lambda: Agent("a\nb"), "the name must be"),
        (lambda: Agent("a", system=3), "'a': system must be a str"),  # type: ignore[arg-type]
        (lambda: Agent("a", model=""), "model"),
        (lambda: Agent("a", params=[1]), "params must be a mapping"),  # type: ignore[arg-type]
        (lambda: Agent("a", params={"x": object()}), "params must hold JSON values"),
        (lambda: Agent("a", tools="look"), "tools must be a list"),  # type: ignore[arg-type]
        (lambda: Agent("a", tools=(test_an_agent_is_plain_data,)), "names only"),  # type: ignore[arg-type]
        (lambda: Agent("a", max_steps=0), "max_steps"),
        (lambda: Agent("a", max_steps=True), "max_steps"),
        (lambda: Agent("a", history=lambda messages: messages), r"LastMessages\(...\)"),  # type: ignore[arg-type]
    ],
)
def test_what_an_agent_cannot_be_is_refused(make: Callable[[], Agent], message: str) -> None:
    """By field, and with what would be right."""
    with pytest.raises(DeclarationError, match=message):
        make()
