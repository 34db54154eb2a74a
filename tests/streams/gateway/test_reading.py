"""What a reader at a position is sent: no character lost or doubled, from wherever it goes on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.gateway.ids import IdError, Position, public_id, turn_of
from streams.gateway.reading import MAX_EVENT_CHARS, Event, next_event
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.records import (
    CompletedFrame,
    FailedFrame,
    PostprocessCompleteFrame,
    ReleasedFrame,
    ResetFrame,
    TextFrame,
)

TURN = TurnKey("acme", "chat", "one")
IDS = TURN._asdict()
#: A turn of two steps whose second one was tried twice, with a version that post-processing made.
FRAMES: tuple[ReleasedFrame, ...] = (
    TextFrame(**IDS, text="Let me "),
    TextFrame(**IDS, offset=7, text="look. "),
    TextFrame(**IDS, step=1, text="It is wro"),
    ResetFrame(**IDS, step=1, attempt=1),
    TextFrame(**IDS, step=1, attempt=1, text="It is"),
    TextFrame(**IDS, step=1, attempt=1, offset=5, text=" right. \N{ROCKET}"),
    PostprocessCompleteFrame(**IDS, step=1, attempt=1, text="It is right!"),
    CompletedFrame(
        **IDS,
        step=1,
        attempt=1,
        offset=14,
        reply="Let me look. It is right. \N{ROCKET}",
        length=27,
        finish_reason="stop",
    ),
)


def read(view: TurnView, at: Position, *, shown: bool = True) -> tuple[list[Event], Position]:
    """Take everything that there is for a reader."""
    events: list[Event] = []
    while (event := next_event(view, at, shown=shown)) is not None:
        events.append(event)
        at = event.after
    return events, at


def shown_text(events: Sequence[Event]) -> str:
    """Return what a naive client has on its screen, which appends texts and, on a reset, drops its step."""
    steps: dict[int, str] = {}
    for frame, _ in events:
        if isinstance(frame, ResetFrame):
            steps[frame.step] = ""
        elif isinstance(frame, TextFrame):
            assert frame.offset == len(steps.get(frame.step, ""))
            steps[frame.step] = steps.get(frame.step, "") + frame.text
    return "".join(steps[number] for number in sorted(steps))


@given(st.lists(st.sampled_from(range(len(FRAMES))), max_size=6), st.lists(st.booleans(), min_size=8, max_size=8))
def test_nothing_is_lost_or_doubled_wherever_a_reader_goes_on(repeats: list[int], reads: list[bool]) -> None:
    """A reader reads after some frames, goes on by its last id, and frames come twice."""
    view, at, events = TurnView(TURN), Position(), list[Event]()
    for number, frame in enumerate(FRAMES):
        view = fold(view, frame)
        for again in repeats:
            if again <= number:
                view = fold(view, FRAMES[again])
        if reads[number]:
            more, at = read(view, Position.parse(str(at)))
            events += more
    events += read(view, at)[0]
    assert shown_text(events) == "Let me look. It is right. \N{ROCKET}"
    kinds = [event.frame.kind for event in events]
    assert kinds[-2:] == ["postprocess-complete", "completed"]
    assert kinds.count("completed") == 1
    assert [event.last for event in events] == [False] * (len(events) - 1) + [True]


def test_a_reader_elsewhere_that_knows_more_waits() -> None:
    """The position is ahead of what this gateway has read so far."""
    view = fold(TurnView(TURN), FRAMES[0])
    assert next_event(view, Position(step=0, offset=13)) is None
    assert next_event(view, Position(step=1, attempt=1, offset=3)) is None
    for frame in FRAMES[1:6]:
        view = fold(view, frame)
    (event,), _ = read(view, Position(step=1, attempt=1, offset=3))
    assert isinstance(event.frame, TextFrame)
    assert (event.frame.offset, event.frame.text) == (3, "is right. \N{ROCKET}")


def test_a_reset_is_told_to_those_who_have_something_to_drop() -> None:
    """A reader that comes late never sees what was taken back."""
    view = TurnView(TURN)
    for frame in FRAMES[:5]:
        view = fold(view, frame)
    assert [event.frame.kind for event in read(view, Position())[0]] == ["text", "text"]
    assert [event.frame.kind for event in read(view, Position(step=1, offset=4))[0]] == ["reset", "text"]
    assert [event.frame.kind for event in read(view, Position(step=1, offset=0))[0]] == ["text"]


def test_a_long_text_comes_in_bounded_events() -> None:
    """However much there is at once."""
    text = "x" * (2 * MAX_EVENT_CHARS + 1)
    events, _ = read(fold(TurnView(TURN), TextFrame(**IDS, text=text)), Position())
    sizes = [len(event.frame.text) for event in events if isinstance(event.frame, TextFrame)]
    assert sizes == [MAX_EVENT_CHARS, MAX_EVENT_CHARS, 1]


def test_with_final_delivery_there_is_only_the_ending() -> None:
    """Its reply is not sent as text before it."""
    end = CompletedFrame(**IDS, reply="All.", length=4, finish_reason="stop")
    events, at = read(fold(TurnView(TURN), end), Position(), shown=False)
    assert [event.frame for event in events] == [end]
    assert at.stage == "e"
    assert next_event(fold(TurnView(TURN), end), at, shown=False) is None


def test_text_before_a_failure_comes_before_it() -> None:
    """What was released stays released."""
    view = fold(TurnView(TURN), FRAMES[0])
    view = fold(view, FailedFrame(**IDS, offset=7, error="ModelFailedError", message="gone"))
    assert [event.frame.kind for event in read(view, Position())[0]] == ["text", "failed"]


@pytest.mark.parametrize(
    "turn", [TURN, TurnKey("acme", "Gespräch 7", "\N{ROCKET}?#%"), TurnKey("a", "x" * 200, "y" * 200)]
)
def test_ids_of_turns_are_safe_in_urls_and_lead_back(turn: TurnKey) -> None:
    """And the tenant is never taken from them."""
    name = public_id(turn)
    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert turn_of(turn.tenant, name) == turn
    assert turn_of("other", name) == turn._replace(tenant="other")


@pytest.mark.parametrize(
    "given_id", ["", "t_", "t_!!!!", "t_YQ", "t_YS9i" + "=", "YS9i", "t_YS9iL2M", "t_Lw", "t_YS8Ag", "t_é"]
)
def test_other_ids_are_refused(given_id: str) -> None:
    """Among them those that a gateway would have spelt differently."""
    with pytest.raises(IdError):
        turn_of("acme", given_id)


@pytest.mark.parametrize(
    "given_id", ["", "1", "1.2.3.4", "1.2.3.4.x", "-1.0.0.0.t", "0.0.0.0.t\n", "1" * 19 + ".0.0.0.t"]
)
def test_other_positions_are_refused(given_id: str) -> None:
    """To start from the beginning instead would double text."""
    with pytest.raises(IdError):
        Position.parse(given_id)
