"""What a turn leaves in its thread, and how it is written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.outcomes import Approved, Blocked, Modified, Proceeded, Refused
from streams.gate import events
from streams.gate.entries import Persona
from streams.gate.policy import Policy
from streams.gate.records import JournalError, NewerJournalError
from streams.gate.transcript import Entry, Row, entry_of, read, rows_of
from tests.streams.gate.play import START, Play, frame, result
from topics.content import Message, TextPart, ToolCall, ToolDefinition
from topics.records import ModelError, ToolCallDelta

ASKED = Message(role="user", content="What is my number?")
TOOLS = Persona(tools=(ToolDefinition(name="look_up"),), max_steps=4)


def remembered(play: Play) -> tuple[str, tuple[Message, ...]]:
    """Return the outcome and the messages that a thread keeps of a turn that is over."""
    entry = entry_of(play.turn)
    assert entry is not None
    assert (entry.turn_id, entry.at, entry.agent) == ("turn-1", START, "default")
    return entry.outcome, entry.messages


def with_a_tool(policy: Policy) -> Play:
    """Return a turn that has called a tool, said something before and after it, and is settled."""
    play = Play(policy).start()
    delta = ToolCallDelta(index=0, id="c1", name="look_up", arguments="{}")
    play.frames(frame(0, "Let me see. "), frame(1, tool_call_delta=delta, finish_reason="tool_calls"))
    play.happen(events.ToolsAnswered((result("c1", "seven"),)))
    play.frames(frame(0, "Seven.", step=1, finish_reason="stop"))
    return play


CALLED = (ToolCall(id="c1", name="look_up", arguments="{}"),)
TOLD = Message(role="tool", name="look_up", tool_call_id="c1", content="seven")


def test_an_answered_turn_is_remembered_whole() -> None:
    """Message, replies, tool calls and results, in order."""
    play = with_a_tool(Policy(default_persona=TOOLS))
    assert remembered(play) == (
        "completed",
        (
            ASKED,
            Message(role="assistant", content="Let me see. ", tool_calls=CALLED),
            TOLD,
            Message(role="assistant", content="Seven."),
        ),
    )


def test_a_post_processed_reply_stands_for_the_text_of_all_steps() -> None:
    """So that the memory says what the reader was told, and says it once."""
    play = with_a_tool(Policy(default_persona=TOOLS, has_post=True))
    play.happen(events.PostDone(Modified("Let me see. Seven. Bye.")))
    assert remembered(play)[1] == (
        ASKED,
        Message(role="assistant", tool_calls=CALLED),
        TOLD,
        Message(role="assistant", content="Let me see. Seven. Bye."),
    )


def test_the_message_is_as_the_pre_processors_left_it() -> None:
    """They run once for each message, so what they hid must stay hidden in later turns."""
    play = Play(Policy(has_pre=True)).start()
    play.happen(events.PreDone(Proceeded((TextPart(text="What is [it]?"),))))
    play.text("Seven.").finish()
    assert remembered(play)[1][0] == Message(role="user", content="What is [it]?")


def test_a_blocked_turn_is_remembered_with_the_reply_that_was_given() -> None:
    """An empty one is no reply."""
    play = Play(Policy(has_pre=True)).start()
    play.happen(events.PreDone(Blocked("hours", "Closed.")))
    assert remembered(play) == ("blocked", (ASKED, Message(role="assistant", content="Closed.")))
    silent = Play(Policy(has_pre=True), delivery="final").start()
    silent.happen(events.PreDone(Blocked("hours", "")))
    assert remembered(silent) == ("blocked", (ASKED,))


def test_of_other_turns_only_the_message_is_remembered() -> None:
    """What an answer held that was rejected, failed or cut off is nowhere to be read."""
    rejected = Play(Policy(mode="whole")).start().text("a secret").finish()
    rejected.passed(Refused("guard", "policy"), final=True)
    failed = Play(Policy(max_attempts=1)).start().text("half an")
    failed.frames(frame(1, error=ModelError()))
    cancelled = Play().start().text("half an")
    cancelled.happen(events.Cancel())
    for play, outcome in ((rejected, "rejected"), (failed, "failed"), (cancelled, "cancelled")):
        assert remembered(play) == (outcome, (ASKED,))
        entry = entry_of(play.turn)
        assert entry is not None
        assert not entry.answered


def test_what_is_nobodys_memory_is_not_kept() -> None:
    """A caller that keeps the conversation, a turn that is open, one that never had its thread."""
    assert entry_of(Play(history=()).start().text("hello").finish().turn) is None
    assert entry_of(Play().start().turn) is None
    refused = Play()
    refused.happen(events.Refuse("InvalidRequestError", "the thread is busy"))
    assert entry_of(refused.turn) is None


def test_a_refusal_of_the_models_own_is_what_it_said() -> None:
    """Where it said nothing else."""
    play = Play(Policy(mode="whole")).start()
    play.frames(frame(0, refusal="I will not.", finish_reason="stop"))
    play.passed(Approved("", refusal="I will not."), final=True)
    assert remembered(play)[1][-1] == Message(role="assistant", content="I will not.")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4_000)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=st.none() | texts | st.lists(st.builds(TextPart, text=texts), min_size=1, max_size=3).map(tuple),
    tool_calls=st.lists(st.just(CALLED[0]), max_size=2).map(tuple),
)


@given(st.lists(messages, min_size=1, max_size=6), st.integers(4_096, 20_000))
def test_an_entry_comes_back_from_its_rows(said: list[Message], max_bytes: int) -> None:
    """However long its texts are; rows stay about as small as they must."""
    entry = Entry("t", 1.5, "completed", "desk", tuple(said))
    rows = rows_of(entry, max_bytes)
    assert read(Row.decode(row.encode()) for row in rows) == [entry]
    assert [row.last for row in rows] == [False] * (len(rows) - 1) + [True]
    if all(not isinstance(one.content, tuple) for one in said):
        assert all(len(row.encode()) <= max_bytes + 2_048 for row in rows)


def test_entries_follow_each_other_and_an_unfinished_one_is_left_out() -> None:
    """As a worker leaves it that dies between two rows: its successor writes the rest."""
    long = Message(role="assistant", content="x" * 10_000)
    first = rows_of(Entry("a", 1.0, "completed", "d", (ASKED, long)), 5_000)
    second = rows_of(Entry("b", 2.0, "completed", "d", (ASKED, long)), 5_000)
    assert len(first) > 2
    assert [entry.turn_id for entry in read([*first, *second])] == ["a", "b"]
    assert [entry.turn_id for entry in read([*first, *second[:-1]])] == ["a"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"v":1}', b'{"v":1,"t":"x","at":1,"o":"c","a":"d","m":[],"q":1}'])
def test_what_is_no_row_stops_whoever_reads_it(raw: bytes) -> None:
    """Going on would forget what was said."""
    with pytest.raises(JournalError, match="cannot be read"):
        Row.decode(raw)


def test_a_newer_row_asks_for_the_newer_version() -> None:
    """As a turn's record does."""
    with pytest.raises(NewerJournalError, match="start the newer turngate again"):
        Row.decode(b'{"v":2}')


def test_an_answer_that_says_nothing_is_remembered_as_an_empty_text() -> None:
    """Providers refuse a whole conversation in which the assistant neither says nor calls anything."""
    assert remembered(Play().start().finish())[1][-1] == Message(role="assistant", content="")
