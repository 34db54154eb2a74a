"""Turns of several steps, with tools, rules, masks and post-processors, by real processes on a real broker."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from streams.settings import environment
from tests.brokers.broker import Broker
from tests.integration.pipeline import ROOT, Pipeline
from topics import names
from topics.fold import TurnView
from topics.records import (
    BlockedFrame,
    CompletedFrame,
    Decision,
    FailedFrame,
    PromptRequest,
    ToolCallRequest,
    UsageRecord,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pipeline]:
    """Give a running pipeline of the help desk, one for each broker."""
    prefix = f"desk-{uuid.uuid4().hex[:8]}."
    directory = tmp_path_factory.mktemp("desk")
    deps = "tests.integration.desk_deps:deps"
    async with Pipeline(broker.bootstrap, prefix, directory, deps, processor_workers=1) as running:
        for role in ("turns", "models", "tools"):
            running.start(role)
        threads = running.threads_of_every_partition()
        turns = [await running.submit("probe", thread, ["ready"], agent="desk") for thread in threads]
        await running.read(turns)
        yield running


def calls(step: int, *wanted: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items of a script in which the model asks for tools in a step."""
    return [
        {
            "step": step,
            "tool_call_delta": {"index": index, "id": f"c{index}", "name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(wanted)
    ] + [{"step": step, "finish_reason": "tool_calls", "usage": USAGE}]


async def ask(desk: Pipeline, text: str, thread: str, script: Sequence[object], **fields: Any) -> TurnView:
    """Have a turn answered, and return it once it is over."""
    turn = await desk.submit(text, thread, script, agent="desk", **fields)
    return (await desk.read([turn]))[turn]


def thread_of(desk: Pipeline, thread: str) -> list[dict[str, Any]]:
    """Return what `turngate threads show` says of a thread."""
    done = subprocess.run(
        [sys.executable, "-m", "turngate", "threads", "show", thread, "--json"],
        env=environment(desk.settings),
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_a_turn_asks_tools_and_every_control_holds_on_every_step(desk: Pipeline) -> None:
    """What the model is told, what tools are asked, what the reader sees, what is remembered: each as it should be."""
    thread = f"thread-{uuid.uuid4().hex[:8]}"
    script = [
        {"step": 0, "text": "I look up ann@exa"},
        {"step": 0, "text": "mple.com. "},
        *calls(0, ("account_of", {"name": "ann"}), ("close_account", {"name": "ann"}), ("fly", {})),
        {"step": 1, "text": "It belongs to ann@example.com."},
        {"step": 1, "finish_reason": "stop", "usage": USAGE},
    ]
    view = await ask(desk, "Whose is 654321?", thread, script)
    settled = "I look up [email]. It belongs to [email]."
    assert isinstance(view.terminal, CompletedFrame)
    assert (view.text, view.reply) == (settled, f"{settled} -- your desk")
    assert (view.terminal.reply, view.terminal.tool_calls) == (settled, ())
    assert view.terminal.usage is not None
    assert view.terminal.usage.total_tokens == 30

    prompts = [one for one in await desk.records(names.PROMPTS) if one.turn == view.turn]
    first, second = sorted((one for one in prompts if isinstance(one, PromptRequest)), key=lambda one: one.step)
    assert first.prompt.system == "You are a help desk."
    assert [tool.name for tool in first.tools or ()] == ["account_of", "close_account"]
    assert first.prompt.messages[-1].content == "Whose is [account]?"
    said = [(message.role, message.content) for message in second.prompt.messages]
    assert said[0] == ("user", "Whose is [account]?")
    assert said[1] == ("assistant", "I look up [email]. ")
    assert said[2][1] == '{"name":"ann","number":"[account]","email":"ann@example.com"}'
    assert said[3:] == [("tool", "error: this call is not allowed"), ("tool", "error: there is no such tool")]

    asked = [one for one in await desk.records(names.TOOL_CALLS) if one.turn == view.turn]
    assert [one.call.name for one in asked if isinstance(one, ToolCallRequest)] == ["account_of"]
    decisions = [one for one in await desk.records(names.DECISIONS) if one.turn == view.turn]
    denied = [one for one in decisions if isinstance(one, Decision) and one.verdict == "reject"]
    assert [(one.phase, one.processor) for one in denied] == [("governance", "nothing-is-closed")]
    usage = [one.id for one in await desk.records(names.USAGE) if one.turn == view.turn]
    assert usage == [f"{view.turn}/0/0", f"{view.turn}/1/0"]

    (remembered,) = thread_of(desk, thread)
    assert remembered["outcome"] == "completed"
    roles = [message["role"] for message in remembered["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert remembered["messages"][0]["content"] == "Whose is 654321?"
    assert "123456" in remembered["messages"][2]["content"]
    assert remembered["messages"][-1]["content"] == f"{settled} -- your desk"


async def test_a_thread_remembers_its_turns_and_the_model_is_told_afresh(desk: Pipeline) -> None:
    """The transcript stays as it was said; each prompt is derived from it, and masks do not pile up."""
    thread = f"thread-{uuid.uuid4().hex[:8]}"
    await ask(desk, "I am 111111.", thread, [{"text": "Noted."}])
    blocked = await ask(desk, "HELLO", thread, [])
    assert isinstance(blocked.terminal, BlockedFrame)
    assert blocked.reply == "Please do not shout."
    third = await ask(desk, "Who am I?", thread, [{"text": "You know."}], delivery="final")
    assert third.reply == "You know. -- your desk"
    (prompt,) = [one for one in await desk.records(names.PROMPTS) if one.turn == third.turn]
    assert [message.content for message in prompt.prompt.messages] == [
        "I am [account].",
        "Noted. -- your desk",
        "HELLO",
        "Please do not shout.",
        "Who am I?",
    ]
    assert [entry["outcome"] for entry in thread_of(desk, thread)] == ["completed", "blocked", "completed"]
    assert thread_of(desk, thread)[0]["messages"][0]["content"] == "I am 111111."


async def test_a_model_that_asks_for_tools_for_ever_fails_its_turn(desk: Pipeline) -> None:
    """After as many steps as its agent may take; each call that was made is counted."""
    thread = f"thread-{uuid.uuid4().hex[:8]}"
    script = [item for step in range(3) for item in calls(step, ("account_of", {"name": "ann"}))]
    view = await ask(desk, "Look.", thread, list(script))
    assert isinstance(view.terminal, FailedFrame)
    assert (view.terminal.error, view.terminal.step) == ("ModelFailedError", 2)
    usage = [one for one in await desk.records(names.USAGE) if one.turn == view.turn]
    assert [(one.step, one.outcome) for one in usage if isinstance(one, UsageRecord)] == [
        (0, "completed"),
        (1, "completed"),
        (2, "failed"),
    ]


async def test_an_agent_that_nobody_declared_answers_nothing(desk: Pipeline) -> None:
    """The turn says what is wrong; no model is asked."""
    turn = await desk.submit("Hello", f"thread-{uuid.uuid4().hex[:8]}", ["never"], agent="stranger")
    view = (await desk.read([turn]))[turn]
    assert isinstance(view.terminal, FailedFrame)
    assert view.terminal.error == "InvalidRequestError"
    assert "no such agent" in view.terminal.message


async def test_a_caller_with_tools_of_its_own_runs_them_itself(desk: Pipeline) -> None:
    """A tool call ends a stateless turn, nothing is published for tool runners, and nothing is remembered."""
    thread = f"thread-{uuid.uuid4().hex[:8]}"
    history = [{"role": "user", "content": "I am 222222."}, {"role": "assistant", "content": "Good."}]
    script = [{"text": "Let me see."}, *calls(0, ("lookup", {"x": 1}))]
    view = await ask(desk, "Find me.", thread, script, history=history, tools=[{"name": "lookup"}])
    assert isinstance(view.terminal, CompletedFrame)
    assert [(call.name, call.arguments) for call in view.terminal.tool_calls] == [("lookup", '{"x": 1}')]
    assert view.reply == "Let me see."
    (prompt,) = [one for one in await desk.records(names.PROMPTS) if one.turn == view.turn]
    assert [message.content for message in prompt.prompt.messages] == ["I am [account].", "Good.", "Find me."]
    assert not [one for one in await desk.records(names.TOOL_CALLS) if one.turn == view.turn]
