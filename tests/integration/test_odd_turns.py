"""Turns at the edges of what is allowed, by real processes on a real broker: nothing stops a worker, nothing is skipped."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from processors.policy import SPOKEN_SENTENCE
from tests.brokers.broker import Broker
from tests.integration.pipeline import Pipeline
from tests.integration.test_whole_turns import calls, thread_of
from topics import names
from topics.fold import TurnView
from topics.records import (
    BlockedFrame,
    CompletedFrame,
    Decision,
    FailedFrame,
    PromptRequest,
    RejectedFrame,
    TurnRequest,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

BLOCKED = "Not here."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def odd(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Pipeline]:
    """Give a running pipeline of odd processors, one for each broker."""
    settings: dict[str, Any] = {"processor_workers": 1, "post_budget_s": 1.0, "channel_replies": {"chat": BLOCKED}}
    prefix = f"odd-{uuid.uuid4().hex[:8]}."
    directory = tmp_path_factory.mktemp("odd")
    async with Pipeline(broker.bootstrap, prefix, directory, "tests.integration.odd_deps:deps", **settings) as running:
        for role in ("turns", "models", "tools"):
            running.start(role)
        threads = running.threads_of_every_partition()
        turns = [await running.submit("probe", thread, ["ready"], agent="desk") for thread in threads]
        await running.read(turns)
        yield running


def a_thread() -> str:
    """Return a thread of this test's own."""
    return f"thread-{uuid.uuid4().hex[:8]}"


async def ask(odd: Pipeline, text: str, script: Sequence[object], thread: str = "", **fields: Any) -> TurnView:
    """Have a turn answered, and return it once it is over."""
    turn = await odd.submit(text, thread or a_thread(), script, **{"agent": "desk", **fields})
    return (await odd.read([turn]))[turn]


async def prompts_of(odd: Pipeline, view: TurnView) -> list[PromptRequest]:
    """Return the turn's prompts by step."""
    found = [
        one for one in await odd.records(names.PROMPTS) if isinstance(one, PromptRequest) and one.turn == view.turn
    ]
    return sorted(found, key=lambda one: (one.step, one.attempt))


async def decisions_of(odd: Pipeline, view: TurnView) -> list[Decision]:
    """Return what processors decided about the turn."""
    found = await odd.records(names.DECISIONS)
    return [one for one in found if isinstance(one, Decision) and one.turn == view.turn]


async def test_a_prompt_that_no_record_holds_fails_its_turn_and_no_worker(odd: Pipeline) -> None:
    """A long thread and a long message together; the turns after it go on as if nothing had been."""
    thread = a_thread()
    await ask(odd, "long " * 40_000, ["Noted."], thread)
    view = await ask(odd, "z" * 780_000, ["never"], thread)
    assert isinstance(view.terminal, FailedFrame)
    assert (view.terminal.error, view.terminal.phase) == ("InvalidRequestError", "input")
    assert (await ask(odd, "short", ["Fine."], thread)).reply == "Fine."
    assert all(worker.alive for worker in odd.workers)


async def test_tools_that_say_too_much_end_the_turn_and_no_worker(odd: Pipeline) -> None:
    """Four results that each fit make a prompt that does not."""
    script = calls(0, *(("much", {"size": 250_000}) for _ in range(4)))
    view = await ask(odd, "Tell me everything.", script)
    assert isinstance(view.terminal, FailedFrame)
    assert (view.terminal.error, view.terminal.phase) == ("InvalidRequestError", "tools")
    script = [*calls(0, ("much", {"size": 300_000}), ("much", {"size": "two"})), {"step": 1, "text": "Too much."}]
    view = await ask(odd, "Tell me more.", script)
    assert view.reply == "Too much."
    told = [one.content for one in (await prompts_of(odd, view))[1].prompt.messages if one.role == "tool"]
    assert [str(content).split(":")[1].strip() for content in told] == ["ToolResultTooLargeError", "ToolArgumentsError"]
    assert all(worker.alive for worker in odd.workers)


async def test_a_message_of_parts_goes_through_the_pre_processors_in_their_order(odd: Pipeline) -> None:
    """By priority before name; metadata goes along; the prompt has what they made of it, under the builder's text."""
    message = [
        {"type": "text", "text": "Look at 99999"},
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "file", "data": "aGk=", "name": "a.txt", "media_type": "text/plain"},
    ]
    ids = {"thread_id": a_thread(), "turn_id": uuid.uuid4().hex}
    request = {**ids, "message": message, "agent": "desk", "params": {"script": ["Seen."]}}
    turn = await odd.client.submit(TurnRequest.model_validate(request))
    view = (await odd.read([turn]))[turn]
    (prompt,) = await prompts_of(odd, view)
    assert prompt.prompt.messages[-1].content == "Look at # (text+image+file by z)"
    assert prompt.prompt.system == "You are #.\n\nIt is step 0 of #, with 1 messages."
    assert prompt.params is not None
    assert prompt.params["temperature"] == 0.1
    decided = await decisions_of(odd, view)
    assert [one.processor for one in decided if one.phase == "pre"] == ["z-first", "b-parts", "c-breaks"]
    assert [one.metadata for one in decided if one.processor == "z-first"] == [{"first": "z", "words": 3}]


async def test_a_pre_processor_that_breaks_is_skipped_in_writing_and_blocks_speech(odd: Pipeline) -> None:
    """The failure policy, row by row."""
    view = await ask(odd, "break it", ["Go on."])
    assert view.reply == "Go on."
    assert [one.verdict for one in await decisions_of(odd, view) if one.processor == "c-breaks"] == ["skipped"]
    spoken = await ask(odd, "break it", ["Never."], channel="voice")
    assert isinstance(spoken.terminal, BlockedFrame)
    assert (spoken.terminal.processor, spoken.reply) == ("c-breaks", SPOKEN_SENTENCE)


async def test_a_block_without_words_is_the_channels_reply_or_nothing(odd: Pipeline) -> None:
    """On a stream there is a default; a reader of the end alone gets a code. Either way the thread has the turn."""
    thread = a_thread()
    view = await ask(odd, "block me", ["Never."], thread, channel="chat")
    assert isinstance(view.terminal, BlockedFrame)
    assert (view.reply, view.terminal.code) == (BLOCKED, None)
    final = await ask(odd, "block me", ["Never."], thread, channel="chat", delivery="final")
    assert isinstance(final.terminal, BlockedFrame)
    assert (final.reply, final.terminal.code) == ("", "preprocessor_blocked")
    assert [entry["outcome"] for entry in thread_of(odd, thread)] == ["blocked", "blocked"]
    assert thread_of(odd, thread)[0]["messages"][-1]["content"] == BLOCKED


async def test_who_has_the_reply_waits_no_longer_than_the_budget_for_its_final_version(odd: Pipeline) -> None:
    """What was delivered stays and is remembered; a reader of the end alone waits. A wrong answer is skipped."""
    thread = a_thread()
    view = await ask(odd, "Hello", ["I speak slowly."], thread)
    assert isinstance(view.terminal, CompletedFrame)
    assert (view.postprocessed, view.reply) == (None, "I speak slowly.")
    final = await ask(odd, "Hello", ["I speak slowly, and wrong."], thread, delivery="final")
    assert final.reply == "I speak slowly, and wrong. At last."
    assert [entry["messages"][-1]["content"] for entry in thread_of(odd, thread)] == [
        "I speak slowly.",
        "I speak slowly, and wrong. At last.",
    ]
    verdicts = {(one.processor, one.verdict) for one in await decisions_of(odd, final) if one.phase == "post"}
    assert verdicts == {("a-slow", "replace"), ("b-wrong", "skipped")}


async def test_what_a_tool_call_cuts_in_two_is_found(odd: Pipeline) -> None:
    """The address is told in two steps; neither a reader nor the thread ever has it whole, nor its halves."""
    thread = a_thread()
    script = [
        {"step": 0, "text": "She is ann.lee@exam"},
        *calls(0, ("much", {"size": 3})),
        {"step": 1, "text": "ple.com, I think."},
    ]
    view = await ask(odd, "Who is she?", script, thread)
    assert view.reply == "She is [email], I think."
    (entry,) = thread_of(odd, thread)
    assert "ann.lee" not in json.dumps(entry)
    assert "ann.lee" not in json.dumps([one.prompt.model_dump(mode="json") for one in await prompts_of(odd, view)])


async def test_an_answer_rejected_in_a_later_step_is_readable_nowhere(odd: Pipeline) -> None:
    """Not in the thread, on no topic that readers or accountants have, and in no log."""
    thread = a_thread()
    script = [{"step": 0, "text": "First. "}, *calls(0, ("much", {"size": 3})), {"step": 1, "text": "Now tre4son."}]
    view = await ask(odd, "Say it.", script, thread)
    assert isinstance(view.terminal, RejectedFrame)
    (entry,) = thread_of(odd, thread)
    assert (entry["outcome"], [one["role"] for one in entry["messages"]]) == ("rejected", ["user"])
    for topic in (names.RELEASED_FRAMES, names.USAGE, names.DECISIONS, names.DEAD_LETTERS):
        assert "tre4son" not in "".join(one.model_dump_json() for one in await odd.records(topic))
    assert not any("tre4son" in worker.log.read_text() for worker in odd.workers)
    after = await ask(odd, "And now?", ["Nothing."], thread)
    (prompt,) = await prompts_of(odd, after)
    assert [message.content for message in prompt.prompt.messages] == ["And now?"]


async def test_a_long_reply_of_several_steps_comes_whole_at_the_end(odd: Pipeline) -> None:
    """Longer than a record, in one frame or several, live or not; what a thread remembers of it is the same."""
    long = "0123456789 " * 20_000
    script = [
        {"step": 0, "text": long},
        *calls(0, ("much", {"size": 3})),
        {"step": 1, "text": long},
        {"step": 1, "text": long},
    ]
    for delivery in ("stream", "final"):
        thread = a_thread()
        view = await ask(odd, "Tell me.", script, thread, delivery=delivery)
        assert isinstance(view.terminal, CompletedFrame)
        assert view.terminal.reply is None
        assert view.reply == long * 3
        (entry,) = thread_of(odd, thread)
        assert "".join(one.get("content", "") for one in entry["messages"] if one["role"] == "assistant") == long * 3


async def test_an_agent_has_its_own_history_and_tools(odd: Pipeline) -> None:
    """This one is told two messages, and may call nothing: a call ends its turn."""
    thread = a_thread()
    for number in range(3):
        await ask(odd, f"Question {number}", [f"Answer {number}"], thread)
    view = await ask(odd, "And?", calls(0, ("much", {"size": 3})), thread, agent="brief")
    assert isinstance(view.terminal, CompletedFrame)
    assert [call.name for call in view.terminal.tool_calls] == ["much"]
    (prompt,) = await prompts_of(odd, view)
    assert [one.content for one in prompt.prompt.messages] == ["Question 2", "Answer 2", "And?"]
    assert prompt.tools in (None, ())
    after = await ask(odd, "Still there?", ["Yes."], thread)
    told = (await prompts_of(odd, after))[0].prompt.messages
    assert [(one.role, one.content) for one in told[-3:]] == [
        ("user", "And?"),
        ("assistant", ""),
        ("user", "Still there?"),
    ]
