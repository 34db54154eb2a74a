"""History windows: the newest messages that fit, never a tool call without its results or the other way round."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import DeclarationError, LastMessages, Message, TextPart, TokenLimit, ToolCall
from processors.contracts import ImagePart
from processors.history import HistoryWindow, estimated_tokens


def user(text: str) -> Message:
    """Return what a user says."""
    return Message(role="user", content=text)


def assistant(text: str | None = None, *calls: str) -> Message:
    """Return what a model says, with calls of these ids."""
    return Message(role="assistant", content=text, tool_calls=tuple(ToolCall(id=one, name="look") for one in calls))


def result(call: str, text: str = "found") -> Message:
    """Return what a tool gave back."""
    return Message(role="tool", content=text, tool_call_id=call)


TALK = (
    user("one"),
    assistant(None, "a", "b"),
    result("b"),
    result("a"),
    assistant("two"),
    user("three"),
    assistant("four"),
)


@pytest.mark.parametrize(
    ("n", "kept"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 3), (6, 6), (7, 7), (100, 7)], ids=str
)
def test_the_last_messages_are_kept_and_an_exchange_with_tools_stays_whole(n: int, kept: int) -> None:
    """Four messages would begin with a tool's result: that and the call it answers go too."""
    assert LastMessages(n)(TALK) == TALK[len(TALK) - kept :]


def test_a_token_limit_keeps_what_fits() -> None:
    """`three` is about 6 tokens and `four` 5, with what is around them: 11 hold both, 10 one, 4 none."""
    sizes = [estimated_tokens(message) for message in TALK[-2:]]
    assert sizes == [6, 5]
    assert TokenLimit(11)(TALK) == TALK[-2:]
    assert TokenLimit(10)(TALK) == TALK[-1:]
    assert TokenLimit(4)(TALK) == ()


def test_tokens_are_estimated_from_all_that_a_message_holds() -> None:
    """Four characters a token, four tokens around a message, a thousand for an image; names and arguments count."""
    assert estimated_tokens(assistant()) == 4
    assert estimated_tokens(user("12345")) == 4 + 2
    parts = (TextPart(text="1234"), ImagePart(url="https://example.org/a.png"), TextPart(text="5"))
    assert estimated_tokens(Message(role="user", content=parts)) == 4 + 2 + 1000
    call = ToolCall(id="any length of id is free", name="look", arguments="{}" * 6)
    assert estimated_tokens(Message(role="assistant", tool_calls=(call,))) == 4 + 4


def test_a_call_id_that_is_used_again_means_its_latest_call() -> None:
    """Some models number the calls of each answer from the start."""
    talk = (assistant(None, "0"), result("0"), assistant(None, "0"), result("0"))
    assert LastMessages(2)(talk) == talk[2:]
    assert LastMessages(3)(talk) == talk[2:]


def test_a_result_that_nobody_asked_for_begins_no_history() -> None:
    """It may stay in the middle, where the thread has it."""
    talk = (user("one"), result("lost"), user("two"))
    assert LastMessages(2)(talk) == talk[2:]
    assert LastMessages(3)(talk) == talk


MESSAGES = st.lists(
    st.one_of(
        st.text(max_size=20).map(user),
        st.tuples(st.text(max_size=20), st.lists(st.sampled_from("abc"), max_size=3, unique=True)).map(
            lambda drawn: assistant(drawn[0], *drawn[1])
        ),
        st.sampled_from("abcd").map(result),
    ),
    max_size=25,
).map(tuple)
WINDOWS = st.one_of(
    st.integers(min_value=0, max_value=30).map(LastMessages), st.integers(min_value=0, max_value=200).map(TokenLimit)
)


def weight(window: HistoryWindow, messages: tuple[Message, ...]) -> int:
    """Return how much of its limit a window counts for messages."""
    return len(messages) if isinstance(window, LastMessages) else sum(map(estimated_tokens, messages))


def limit(window: HistoryWindow) -> int:
    """Return what a window allows."""
    return window.n if isinstance(window, LastMessages) else window.tokens


def may_stand_alone(messages: tuple[Message, ...], kept: int) -> bool:
    """Tell whether the last `kept` messages need none of those before them; written as slowly as it is said."""
    cut = len(messages) - kept
    if kept and messages[cut].role == "tool":
        return False
    for at in range(cut, len(messages)):
        if messages[at].role == "tool":
            callers = [
                before
                for before in range(at)
                if any(call.id == messages[at].tool_call_id for call in messages[before].tool_calls)
            ]
            if callers and callers[-1] < cut:
                return False
    return True


@given(MESSAGES, WINDOWS)
def test_a_window_gives_the_longest_end_of_a_thread_that_fits_and_stands_alone(
    messages: tuple[Message, ...], window: HistoryWindow
) -> None:
    """In order, and nothing in between left out."""
    kept = len(window(messages))
    assert window(messages) == messages[len(messages) - kept :]
    fits = [
        n
        for n in range(len(messages) + 1)
        if weight(window, messages[len(messages) - n :]) <= limit(window) and may_stand_alone(messages, n)
    ]
    assert kept == max(fits)


@given(MESSAGES, WINDOWS)
def test_a_window_over_its_own_output_changes_nothing(messages: tuple[Message, ...], window: HistoryWindow) -> None:
    """So that it does not matter who applied it first."""
    assert window(window(messages)) == window(messages)


@pytest.mark.parametrize("value", [-1, 1.5, True, "3", None])
@pytest.mark.parametrize("window", [LastMessages, TokenLimit])
def test_a_window_is_as_wide_as_a_whole_number(window: type[HistoryWindow], value: object) -> None:
    """The error names the field."""
    with pytest.raises(DeclarationError, match=r"LastMessages: n|TokenLimit: tokens"):
        window(value)  # type: ignore[arg-type]


def test_windows_are_data() -> None:
    """They can be compared, and sent to another process."""
    assert pickle.loads(pickle.dumps(TokenLimit(5))) == TokenLimit(5)  # noqa: S301 - just written here
    assert LastMessages(5) != LastMessages(6)
