"""The example of generated SQL over sensitive data, run for real: what the model is sent, what the tool gets, what is read.

A turn worker, a model runner and a tool runner; the answers are scripted, and a local server moderates.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from aiokafka import TopicPartition

from streams.journal.replay import Replay
from streams.turns.threads import entries_of
from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.processors.builtin.moderation_server import ModerationServer, moderation_server
from topics import names
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.records import CompletedFrame, Decision, PromptRequest, RejectedFrame

pytestmark = pytest.mark.asyncio(loop_scope="module")

DEPS = "tests.integration.closed_desk:deps"
NUMBER = "DE89370400440532013000"
SPACED = "DE89 3704 0044 0532 0130 00"
QUERY = (
    "SELECT a.number, a.balance_cents, p.payee FROM accounts a JOIN payments p ON p.account_id = a.id "
    "ORDER BY p.day LIMIT 1"
)
ANSWER = (
    "**Balance** of [ACCOUNT_1]: 1250.99\n\n",
    "| payee | amount |\n|---|---|\n| City Power, billing@pow",
    "er.example | 84.50 |\n",
)
REPLY = (
    "*Balance* of [ACCOUNT_1]: 1250.99\n\n- *payee:* City Power, [EMAIL] · *amount:* 84.50\n\n_Written by a machine._"
)


@dataclass(frozen=True)
class Desk:
    """A running desk, and the server that moderates for it."""

    pipeline: Pipeline
    server: ModerationServer

    async def ask(self, message: str, *script: Any, thread: str | None = None, **fields: Any) -> TurnKey:
        """Say something as Ann, on WhatsApp, in a thread of its own unless one is named."""
        given = {"agent": "support", "channel": "whatsapp", "user": {"id": "ann"}} | fields
        return await self.pipeline.submit(message, thread or uuid.uuid4().hex, script, **given)

    async def view(self, turn: TurnKey) -> TurnView:
        """Return what a reader has in the end."""
        return (await self.pipeline.read([turn]))[turn]

    async def of(self, topic: names.Topic, turn: TurnKey) -> list[Any]:
        """Return what is on a topic about a turn that has ended."""
        return [one for one in await self.pipeline.records(topic) if one.turn == turn]

    async def prompts(self, turn: TurnKey) -> list[PromptRequest]:
        """Return what the model was sent, by step."""
        return sorted(await self.of(names.PROMPTS, turn), key=lambda prompt: prompt.step)

    async def decisions(self, turn: TurnKey) -> dict[tuple[str, int], Decision]:
        """Return what each processor decided in each step; of two passes over one answer the last."""
        return {(one.processor, one.step): one for one in await self.of(names.DECISIONS, turn)}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    """Give a desk that runs, one for each broker."""
    directory = tmp_path_factory.mktemp("desk")
    prefix = f"desk-{uuid.uuid4().hex[:8]}."
    async with moderation_server() as server:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SUPPORT_DESK_MODERATION_URL", server.base_url)
            async with Pipeline(
                broker.bootstrap, prefix, directory, DEPS, partitions=1, processor_workers=1
            ) as running:
                for role in ("turns", "models", "tools"):
                    running.start(role)
                yield Desk(running, server)


def sql(query: str, call_id: str = "call-1") -> dict[str, Any]:
    """Return the item of a script that asks the tool, in step 0."""
    delta = {"index": 0, "id": call_id, "name": "run_sql", "arguments": json.dumps({"query": query})}
    return {"step": 0, "tool_call_delta": delta, "finish_reason": "tool_calls"}


def told(prompt: PromptRequest) -> str:
    """Return everything that a prompt says."""
    return prompt.prompt.model_dump_json()


def step(number: int, *texts: str) -> list[Mapping[str, Any]]:
    """Return the items of a step that says something."""
    return [{"step": number, "text": text} for text in texts]


async def test_each_control_does_its_part_in_a_turn_with_a_tool(desk: Desk) -> None:
    """The model never has an account number, the tool has its arguments, the reader no address, the thread all of it."""
    thread = uuid.uuid4().hex
    message = f"What is on {SPACED}, and what the fuck did I pay?"
    script = [*step(0, "Let me look."), sql(QUERY), *step(1, *ANSWER)]
    turn = await desk.ask(message, *script, thread=thread)
    view = await desk.view(turn)

    # What the reader saw: the answer as the chain left it, then its final version.
    assert isinstance(view.terminal, CompletedFrame)
    assert view.reply == f"Let me look.{REPLY}"
    assert "[EMAIL]" in view.text
    released = "".join(one.model_dump_json() for one in await desk.of(names.RELEASED_FRAMES, turn))
    assert "billing@" not in released
    assert NUMBER not in released

    # What the model was sent: neither in the message nor in what the tool returned is there a number.
    first, second = await desk.prompts(turn)
    assert (first.prompt.system or "").endswith("The user's account:\n- customer_id: ann\n- plan: pro")
    (asked,) = first.prompt.messages
    assert "What is on [ACCOUNT_1], and what the *** did I pay?" in asked.model_dump_json()
    assert [tool.name for tool in first.tools or ()] == ["run_sql"]
    *_, called, result = second.prompt.messages
    assert [json.loads(call.arguments)["query"] for call in called.tool_calls] == [QUERY]
    assert json.loads(str(result.content))[0] == {
        "number": "[ACCOUNT_1]",
        "balance_cents": 125099,
        "payee": "City Power, billing@power.example",
    }
    assert not any(number in told(prompt) for prompt in (first, second) for number in (NUMBER, SPACED))

    # What the tool got and said: the model's own query, and the data as it is.
    (call,) = await desk.of(names.TOOL_CALLS, turn)
    assert json.loads(call.call.arguments) == {"query": QUERY}
    (answered,) = await desk.of(names.TOOL_RESULTS, turn)
    assert json.loads(answered.content)[0]["number"] == NUMBER

    # What was decided, without content.
    decisions = await desk.decisions(turn)
    assert decisions["enrich", 0].metadata == {"account": {"customer_id": "ann", "plan": "pro"}}
    assert decisions["office-hours", 0].metadata == {
        "office_open": False,
        "office_opens_at": "2026-03-09T09:00:00+01:00",
    }
    assert decisions["sql-rule", 0].verdict == "pass"
    assert {decisions[name, 1].verdict for name in ("whatsapp", "footer")} == {"replace"}
    assert not any("billing@" in one.model_dump_json() for one in decisions.values())

    # What the thread remembers, and what the next turn's model is told of it.
    (remembered,) = entries_of(await journaled(desk.pipeline), turn.thread)
    asked, called, result, replied = remembered.messages
    assert SPACED in asked.model_dump_json()
    assert NUMBER in str(result.content)
    assert (replied.role, replied.content) == ("assistant", view.reply)
    after = await desk.ask("Thanks!", "You are welcome.", thread=thread)
    assert (await desk.view(after)).reply.startswith("You are welcome.")
    (prompt,) = await desk.prompts(after)
    assert [one.role for one in prompt.prompt.messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert "[ACCOUNT_1]" in told(prompt)
    assert not any(number in told(prompt) for number in (NUMBER, SPACED))


async def test_sql_that_writes_ends_the_turn(desk: Desk) -> None:
    """The tool is not asked, and nothing of the answer is read."""
    turn = await desk.ask("Forget me", *step(0, "I will delete you."), sql("DELETE FROM customers"), *step(1, "Done."))
    view = await desk.view(turn)
    assert isinstance(view.terminal, RejectedFrame)
    assert (view.terminal.processor, view.reply) == ("sql-gate", "")
    assert await desk.of(names.TOOL_CALLS, turn) == []
    assert (await desk.decisions(turn))["sql-gate", 0].reason == "not-read-only"


async def test_sql_over_what_is_not_permitted_is_denied_and_the_model_told(desk: Desk) -> None:
    """The call is not made; the turn goes on."""
    query = "SELECT note FROM staff_notes LIMIT 5"
    turn = await desk.ask("What do you say of me?", sql(query), *step(1, "I may not look there."))
    view = await desk.view(turn)
    assert view.reply == "I may not look there.\n\n_Written by a machine._"
    assert await desk.of(names.TOOL_CALLS, turn) == []
    _, second = await desk.prompts(turn)
    assert second.prompt.messages[-1].content == "error: this call is not allowed"
    assert (await desk.decisions(turn))["sql-rule", 0].reason == "table-not-permitted"


async def test_an_answer_that_moderation_finds_bad_is_read_by_nobody(desk: Desk) -> None:
    """Not even its beginning: the whole answer is judged, as the chain before left it."""
    turn = await desk.ask("Hello", "Write to ann@example.com. ", "You are bad.")
    view = await desk.view(turn)
    assert isinstance(view.terminal, RejectedFrame)
    assert (view.terminal.processor, view.reply) == ("moderation", "")
    assert "Write to [EMAIL]. You are bad." in desk.server.texts


@pytest.mark.parametrize(
    ("message", "processor", "reply"),
    [
        ("My card is 4111 1111 1111 1111", "no-card-numbers", "Please do not send card numbers here."),
        (
            "I want to talk to a person!",
            "handoff",
            "My colleagues are back on Monday at 09:00, and will write to you then.",
        ),
    ],
)
async def test_what_needs_no_model_is_answered_without_one(
    desk: Desk, message: str, processor: str, reply: str
) -> None:
    """By a rule of the house, or because nobody is there on a Sunday."""
    turn = await desk.ask(message, "Nobody asked me.")
    view = await desk.view(turn)
    assert view.terminal is not None
    assert (view.terminal.kind, view.reply) == ("blocked", reply)
    assert await desk.prompts(turn) == []
    assert (await desk.decisions(turn))[processor, 0].verdict == "block"


async def journaled(pipeline: Pipeline) -> dict[str, Any]:
    """Return the rows of the turn worker's journal."""
    replay = Replay()
    async with pipeline.connection.consumer() as consumer:
        topic = pipeline.names.journal("turns")
        places = [TopicPartition(topic, number) for number in range(pipeline.client.partitions)]
        consumer.assign(places)
        while batch := await consumer.getmany(timeout_ms=500):
            for records in batch.values():
                for record in records:
                    replay.apply(record.offset, record.key, record.value)
    return dict(replay.rows)
