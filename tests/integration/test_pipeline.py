"""What a caller and a reader see of a healthy pipeline, on every broker."""

from __future__ import annotations

import time
import uuid

import pytest

from tests.integration.pipeline import Pipeline
from topics import codec, names
from topics.content import Message, TextPart
from topics.fold import TurnView
from topics.ids import TurnKey
from topics.records import BlockedFrame, CompletedFrame, Decision, FailedFrame, RejectedFrame, TurnRequest, UsageRecord
from topics.text import well_formed

QUOTE = '\\"'

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def ends(pipeline: Pipeline, turn: TurnKey) -> TurnView:
    """Return the turn once it is closed."""
    return (await pipeline.read([turn]))[turn]


def fresh_thread() -> str:
    """Return a thread that no other test uses."""
    return f"thread-{uuid.uuid4().hex[:8]}"


async def test_an_address_split_across_frames_never_shows(pipeline: Pipeline) -> None:
    """Every cumulative prefix that a reader has is free of the address."""
    script = ["Write to b", "ob@exam", "ple.com", " whenever you like, they are happy to hear from you."]
    turn = await pipeline.submit("hello", fresh_thread(), script, params={"delay_s": 0.05})
    seen = ""
    async for frame in pipeline.client.follow(turn, timeout_s=20):
        seen += getattr(frame, "text", "")
        assert "b" not in seen.removeprefix("Write to ")[:1]
        assert "@" not in seen
    assert seen == "Write to [email] whenever you like, they are happy to hear from you."


async def test_usage_is_recorded_before_the_turn_is_over(pipeline: Pipeline) -> None:
    """The terminal frame carries the provider's usage, and the usage topic has it under the call's id."""
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    turn = await pipeline.submit("hello", fresh_thread(), ["Fine.", {"finish_reason": "length", "usage": usage}])
    terminal = (await ends(pipeline, turn)).terminal
    assert isinstance(terminal, CompletedFrame)
    assert terminal.finish_reason == "length"
    assert terminal.usage is not None
    assert terminal.usage.total_tokens == 18
    records = [record for record in await pipeline.records(names.USAGE) if record.turn == turn]
    assert [(record.id, record.outcome, record.estimated) for record in records if isinstance(record, UsageRecord)] == [
        (f"{turn}/0/0", "completed", False)
    ]


async def test_a_rejected_answer_is_seen_by_nobody_and_paid_for(pipeline: Pipeline) -> None:
    """The reader is told who refused and nothing else; usage and decisions are recorded, without content."""
    script = ["The word you are looking for is sword", "fish, and here is", {"hang": True}]
    turn = await pipeline.submit("hello", fresh_thread(), script)
    view = await ends(pipeline, turn)
    assert isinstance(view.terminal, RejectedFrame)
    assert view.terminal.processor == "no-secrets"
    assert "sword" not in view.text
    usage = [record for record in await pipeline.records(names.USAGE) if record.turn == turn]
    assert [record.outcome for record in usage] == ["rejected"]
    decisions = [record for record in await pipeline.records(names.DECISIONS) if record.turn == turn]
    refused = [record for record in decisions if isinstance(record, Decision) and record.verdict == "reject"]
    assert [record.processor for record in refused] == ["no-secrets"]
    cancels = [record for record in await pipeline.records(names.CANCELS) if record.turn == turn]
    assert len(cancels) == 1


async def test_a_block_answers_without_the_model(pipeline: Pipeline) -> None:
    """The pre-processor's words are the reply, and no prompt was published."""
    turn = await pipeline.submit("I want a human", fresh_thread(), ["never said"])
    view = await ends(pipeline, turn)
    assert isinstance(view.terminal, BlockedFrame)
    assert view.reply == "Our office is closed."
    assert not [record for record in await pipeline.records(names.PROMPTS) if record.turn == turn]


async def test_the_model_sees_only_what_the_input_chain_made(pipeline: Pipeline) -> None:
    """The prompt topic has the masked text; the account number is nowhere in it."""
    turn = await pipeline.submit("Check ACCT-123456 please", fresh_thread(), ["Done."])
    await ends(pipeline, turn)
    (prompt,) = [record for record in await pipeline.records(names.PROMPTS) if record.turn == turn]
    assert prompt.prompt.messages[-1].content == "Check ACCT-0 please"
    assert b"123456" not in codec.encode(prompt)


async def test_turns_of_one_thread_run_one_after_the_other(pipeline: Pipeline) -> None:
    """The second turn's prompt comes after the first turn's end, though both were submitted at once."""
    thread = fresh_thread()
    first = await pipeline.submit("one", thread, ["slow ", "answer"], params={"delay_s": 0.3})
    second = await pipeline.submit("two", thread, ["quick answer"])
    views = await pipeline.read([first, second])
    assert [views[turn].text for turn in (first, second)] == ["slow answer", "quick answer"]
    released = [record for record in await pipeline.records(names.RELEASED_FRAMES) if record.turn in (first, second)]
    assert [record.turn for record in released] == sorted(
        (record.turn for record in released), key=[first, second].index
    )


async def test_a_final_reader_gets_one_frame(pipeline: Pipeline) -> None:
    """With delivery `final` nothing but the terminal frame is released."""
    turn = await pipeline.submit("hello", fresh_thread(), ["mail x@y.example ", "now"], delivery="final")
    view = await ends(pipeline, turn)
    released = [record for record in await pipeline.records(names.RELEASED_FRAMES) if record.turn == turn]
    assert [record.kind for record in released] == ["completed"]
    assert view.reply == "mail [email] now"


async def test_submitting_again_repeats_the_end_and_nothing_else(pipeline: Pipeline) -> None:
    """A second submission of a closed turn publishes its terminal frame once more; the model is not asked again."""
    thread = fresh_thread()
    turn = await pipeline.submit("hello", thread, ["once"])
    await ends(pipeline, turn)
    await pipeline.submit("hello", thread, ["twice"], turn_id=turn.turn_id)
    probe = await pipeline.submit("hello", thread, ["after"])
    await ends(pipeline, probe)
    released = await pipeline.wait_for_records(
        names.RELEASED_FRAMES, lambda all_: sum(one.turn == turn and one.kind == "completed" for one in all_) == 2
    )
    ended = [codec.encode(record) for record in released if record.turn == turn and record.kind == "completed"]
    assert ended[0] == ended[1]
    prompts = [record for record in await pipeline.records(names.PROMPTS) if record.turn == turn]
    assert len(prompts) == 1


async def test_a_request_past_the_idempotency_window_is_refused_as_expired(pipeline: Pipeline) -> None:
    """Its turn may have been answered and forgotten: its caller is told, and the model is not asked."""
    request = TurnRequest(thread_id=fresh_thread(), turn_id="late", message=(TextPart(text="hello"),))
    turn = request.turn
    written_at = time.time() - pipeline.settings.idempotency_window_s - 60
    async with pipeline.connection.producer() as producer:
        await producer.send_and_wait(
            pipeline.names.topic(names.REQUESTS),
            codec.encode(request),
            key=turn.thread.encode(),
            partition=turn.thread.partition(pipeline.client.partitions),
            timestamp_ms=int(written_at * 1000),
        )
    terminal = (await ends(pipeline, turn)).terminal
    assert isinstance(terminal, FailedFrame)
    assert terminal.error == "InvalidRequestError"
    assert "new turn" in terminal.message
    letters = [letter for letter in await pipeline.records(names.DEAD_LETTERS) if letter.turn_id == "late"]
    assert [letter.error for letter in letters] == ["ExpiredRequestError"]
    assert not [record for record in await pipeline.records(names.PROMPTS) if record.turn == turn]


async def test_a_caller_can_cancel(pipeline: Pipeline) -> None:
    """The turn ends as cancelled, and the model call is told to stop."""
    turn = await pipeline.submit("hello", fresh_thread(), ["a long answer that begins and", {"hang": True}])
    await pipeline.wait_for_records(names.FRAMES, lambda all_: any(one.turn == turn for one in all_))
    await pipeline.client.cancel(turn)
    view = await ends(pipeline, turn)
    assert view.terminal is not None
    assert view.terminal.kind == "cancelled"
    ended = await pipeline.wait_for_records(
        names.FRAMES, lambda all_: any(one.turn == turn and one.error is not None for one in all_)
    )
    assert [one.error.type for one in ended if one.turn == turn and one.error] == ["CallCancelledError"]


async def test_a_model_error_is_tried_again_and_then_told(pipeline: Pipeline) -> None:
    """A retryable error leads to a second attempt, whose text replaces the first's."""
    script = [
        {"text": "This goes wrong, but it is long enough to show something of it. ", "attempt": 0},
        {"error": {"type": "Overloaded", "retryable": True}, "attempt": 0},
        {"text": "This goes well.", "attempt": 1},
    ]
    turn = await pipeline.submit("hello", fresh_thread(), script, params={"delay_s": 0.2})
    view = await ends(pipeline, turn)
    assert view.text == "This goes well."
    hopeless = await pipeline.submit("hello", fresh_thread(), [{"error": {"type": "Refused", "retryable": False}}])
    terminal = (await ends(pipeline, hopeless)).terminal
    assert isinstance(terminal, FailedFrame)
    assert (terminal.error, terminal.phase) == ("ModelFailedError", "model")


async def test_halves_of_a_character_in_two_frames_become_one(pipeline: Pipeline) -> None:
    """A surrogate pair split across frames is joined, a lone half becomes U+FFFD, and the turns beside it go on."""
    turn = await pipeline.open_turn(fresh_thread())
    for raw in (
        b'{"seq":0,"text":"Party \\ud83c"}',
        b'{"seq":1,"text":"\\udf89 and \\ud800 too"}',
        b'{"seq":2,"finish_reason":"stop"}',
    ):
        await pipeline.send_raw(names.FRAMES, turn, raw)
    assert (await ends(pipeline, turn)).text == well_formed("Party \U0001f389 and \ud800 too")


async def test_a_gap_that_is_never_filled_fails_the_turn(pipeline: Pipeline) -> None:
    """What comes after the missing frame is never shown, and the end says which frame was missing."""
    turn = await pipeline.open_turn(fresh_thread())
    await pipeline.send_raw(names.FRAMES, turn, b'{"seq":0,"text":"alpha and enough to be released before the gap "}')
    await pipeline.send_raw(names.FRAMES, turn, b'{"seq":2,"text":"delta","finish_reason":"stop"}')
    view = await ends(pipeline, turn)
    assert isinstance(view.terminal, FailedFrame)
    assert view.terminal.error == "FrameGapError"
    assert "1" in view.terminal.message
    assert "delta" not in view.text


async def test_a_reply_too_long_for_a_record_comes_in_pieces(pipeline: Pipeline) -> None:
    """700,000 quotes, 1.4 MB as JSON: several ordered text frames, and a terminal frame with length and digest."""
    turn = await pipeline.open_turn(fresh_thread())
    for seq in range(14):
        finish = ',"finish_reason":"stop"' if seq == 13 else ""
        raw = f'{{"seq":{seq},"text":"{QUOTE * 50_000}"{finish}}}'
        await pipeline.send_raw(names.FRAMES, turn, raw.encode())
    view = await ends(pipeline, turn)
    assert isinstance(view.terminal, CompletedFrame)
    assert view.terminal.reply is None
    assert view.terminal.length == 700_000
    assert view.text == '"' * 700_000


async def test_the_whole_request_reaches_the_prompt(pipeline: Pipeline) -> None:
    """System text and the caller's history precede the message, in order."""
    request = TurnRequest(
        thread_id=fresh_thread(),
        turn_id="with-history",
        message=(TextPart(text="and now ACCT-77?"),),
        system="You may see ACCT-1.",
        history=(Message(role="user", content="earlier ACCT-5"), Message(role="assistant", content="yes")),
        params={"script": ["ok"]},
    )
    turn = await pipeline.client.submit(request)
    await ends(pipeline, turn)
    (prompt,) = [record for record in await pipeline.records(names.PROMPTS) if record.turn == turn]
    assert [message.content for message in prompt.prompt.messages] == ["earlier ACCT-0", "yes", "and now ACCT-0?"]
