"""The reader's fold: the same text whatever happens to the frames on their way."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.topics.frames import (
    TURN,
    blocked,
    cancelled,
    completed,
    completed_long,
    failed,
    postprocessed,
    rejected,
    reset,
    text,
)
from topics.fold import TurnView, fold
from topics.records import ReleasedFrame, ResetFrame, TextFrame

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def fold_all(frames: Iterable[ReleasedFrame]) -> TurnView:
    """Return what a reader has after `frames`."""
    return reduce(fold, frames, TurnView(TURN))


def views_of(frames: Iterable[ReleasedFrame]) -> list[TurnView]:
    """Return what a reader has after each of `frames`."""
    views = [TurnView(TURN)]
    for frame in frames:
        views.append(fold(views[-1], frame))
    return views[1:]


def show(shown: dict[int, str], news: Sequence[ReleasedFrame]) -> None:
    """Do what a simple reader does with news: append texts, drop a step on reset."""
    for frame in news:
        if isinstance(frame, ResetFrame):
            shown[frame.step] = ""
        elif isinstance(frame, TextFrame):
            assert frame.offset == len(shown.get(frame.step, ""))
            shown[frame.step] = shown.get(frame.step, "") + frame.text


def cuts(draw: st.DrawFn, words: str, step: int, attempt: int) -> list[ReleasedFrame]:
    """Cut `words` into frames, some of which overlap their neighbours."""
    places = sorted({0, len(words), *draw(st.lists(st.integers(0, len(words)), max_size=5))})
    frames: list[ReleasedFrame] = []
    for start, end in pairwise(places):
        early = draw(st.integers(0, start))
        frames.append(text(early, words[early:end], step, attempt))
    return frames


@st.composite
def turns(draw: st.DrawFn) -> tuple[list[ReleasedFrame], str]:
    """Return the frames of a completed turn as a worker publishes them, and its reply.

    A step may have dead attempts, of which part was out; the reset of the next one is there or not, or comes twice.
    """
    frames: list[ReleasedFrame] = []
    reply, step, attempt = "", 0, 0
    for step in range(draw(st.integers(1, 3))):
        last = draw(st.integers(0, 2))
        for attempt in range(last + 1):
            words = draw(WORDS)
            if attempt > 0:
                frames += [reset(attempt, step)] * draw(st.integers(0, 2))
            frames += cuts(draw, words, step, attempt)
            if attempt == last:
                # An attempt without any frame at all would leave the previous one's text standing.
                frames.append(reset(attempt, step))
                reply += words
    ending = draw(st.sampled_from([completed, completed_long]))
    return [*frames, ending(reply, step, attempt)], reply


@given(turns(), st.data())
def test_duplicated_and_reordered_frames_give_the_same_text(
    turn: tuple[list[ReleasedFrame], str], data: st.DataObject
) -> None:
    """Every frame arrives at least once, in any order: the reply is what the worker settled."""
    frames, reply = turn
    again = data.draw(st.lists(st.sampled_from(frames), max_size=5))
    view = fold_all(data.draw(st.permutations([*frames, *again])))
    assert view.closed
    assert view.text == view.reply == reply
    assert not view.contradicted


@given(turns(), st.data())
def test_a_successor_that_repeats_from_anywhere_changes_nothing(
    turn: tuple[list[ReleasedFrame], str], data: st.DataObject
) -> None:
    """Workers die and publish again from an earlier frame on: the reader never sees a contradiction on the way."""
    frames, reply = turn
    sent: list[ReleasedFrame] = []
    out = 0
    for _ in range(data.draw(st.integers(0, 3))):
        # A successor repeats from somewhere in what is out already, and gets as far as it gets.
        start = data.draw(st.integers(0, out))
        stop = data.draw(st.integers(start, len(frames)))
        sent += frames[start:stop]
        out = max(out, stop)
    views = views_of([*sent, *frames[data.draw(st.integers(0, out)) :]])
    assert all(view.text == reply for view in views if view.closed)
    assert views[-1].closed
    assert not any(view.contradicted for view in views)


@given(turns(), st.data())
def test_a_reader_who_only_shows_news_ends_with_the_same_text(
    turn: tuple[list[ReleasedFrame], str], data: st.DataObject
) -> None:
    """News are contiguous texts and the resets between them, and say the same as the view's text."""
    frames, reply = turn
    again = data.draw(st.lists(st.integers(0, len(frames) - 1), max_size=5))
    sent = [frame for place, frame in enumerate(frames) for _ in range(1 + again.count(place))]
    shown: dict[int, str] = {}
    for view in views_of(sent):
        show(shown, view.news)
        assert "".join(shown[step] for step in sorted(shown)) == view.text
    assert "".join(shown[step] for step in sorted(shown)) == reply


@given(WORDS, st.data())
def test_frames_cut_in_two_ways_are_one_text(words: str, data: st.DataObject) -> None:
    """A resumed worker may cut the same text elsewhere."""
    frames = data.draw(st.composite(cuts)(words, 0, 0)) + data.draw(st.composite(cuts)(words, 0, 0))
    view = fold_all(data.draw(st.permutations(frames)))
    assert view.text == words
    assert not view.contradicted


@given(WORDS, st.data())
def test_an_ending_without_reply_waits_for_the_text_before_it(words: str, data: st.DataObject) -> None:
    """A failed turn shows all that was released of it even if its last frame overtakes the rest."""
    frames = [*data.draw(st.composite(cuts)(words, 0, 0)), failed(len(words))]
    view = fold_all(data.draw(st.permutations(frames)))
    assert view.text == words
    assert view.terminal == frames[-1]


@given(turns(), st.integers(0, 40), st.data())
def test_another_character_in_an_attempt_is_a_contradiction(
    turn: tuple[list[ReleasedFrame], str], place: int, data: st.DataObject
) -> None:
    """No frame that disagrees goes unnoticed before the end, wherever it comes."""
    frames, _ = turn
    last = {frame.step: max(other.attempt for other in frames if other.step == frame.step) for frame in frames}
    texts = [frame for frame in frames if isinstance(frame, TextFrame) and frame.attempt == last[frame.step]]
    assume(texts)
    victim = texts[place % len(texts)]
    at = data.draw(st.integers(0, len(victim.text) - 1))
    other = "x" if victim.text[at] != "x" else "y"
    forged = victim.model_copy(update={"text": victim.text[:at] + other + victim.text[at + 1 :]})
    first = frames.index(victim)
    sent = [*frames[:first], *data.draw(st.permutations([victim, forged])), *frames[first + 1 :]]
    view = fold_all(sent)
    assert view.contradicted
    assert not view.closed


def test_overlapping_text_is_trimmed() -> None:
    """What is there already is dropped from the front of a frame."""
    view = fold_all([text(0, "abc"), text(1, "bcde")])
    assert view.text == "abcde"
    assert view.new_text == "de"
    assert view.news == (text(3, "de"),)


def test_text_past_the_end_waits() -> None:
    """A gap is never skipped."""
    early = fold_all([text(3, "def")])
    assert early.text == ""
    assert early.news == ()
    assert fold(early, text(0, "abc")).new_text == "abcdef"


def test_offsets_count_code_points() -> None:
    """An emoji is one character, whatever its width in UTF-16 or UTF-8."""
    assert fold_all([text(1, "b"), text(0, "\N{GRINNING FACE}")]).text == "\N{GRINNING FACE}b"


def test_a_reset_drops_the_step_and_only_the_step() -> None:
    """A new attempt of one step leaves the other steps alone."""
    view = fold_all([text(0, "one"), text(0, "tow", step=1), reset(1, step=1)])
    assert view.text == "one"
    assert view.restarted
    assert fold(view, text(0, "two", step=1, attempt=1)).text == "onetwo"


def test_a_higher_attempt_needs_no_reset() -> None:
    """The reader is told to drop the text all the same."""
    view = fold_all([text(0, "old"), text(0, "new", attempt=1)])
    assert view.text == view.new_text == "new"
    assert view.news == (reset(1), text(0, "new", attempt=1))


def test_a_silent_retry_shows_no_reset() -> None:
    """Where nothing was shown there is nothing to drop."""
    assert fold_all([reset(1)]).news == ()
    assert fold_all([reset(1), text(0, "new", attempt=1)]).news == (text(0, "new", attempt=1),)


def test_late_frames_of_a_dead_attempt_are_ignored() -> None:
    """Neither its text nor its reset, and a repeated reset drops nothing."""
    view = fold_all([text(0, "new", attempt=2), text(0, "old"), text(0, "older", attempt=1), reset(1), reset(2)])
    assert view.text == "new"
    assert view.news == ()
    assert not view.contradicted


def test_final_delivery_is_the_terminal_frame_alone() -> None:
    """The reply is the text, and the only news is the frame that carries it."""
    view = fold_all([completed("all at once")])
    assert view.closed
    assert view.text == view.reply == "all at once"
    assert view.news == (completed("all at once"),)


def test_a_reply_completes_text_that_has_begun() -> None:
    """A reader who has been shown some of the text is shown the rest before the end."""
    view = fold_all([text(0, "half "), completed("half and half")])
    assert view.news == (text(5, "and half"), completed("half and half"))
    assert view.text == "half and half"


def test_a_long_reply_waits_for_its_text() -> None:
    """Without a reply to take, the end is when the length and the digest agree."""
    end = completed_long("abcdef")
    early = fold_all([text(0, "abc"), end])
    assert (early.closed, early.pending, early.contradicted) == (False, end, False)
    late = fold(early, text(3, "def"))
    assert late.terminal == end
    assert late.news == (text(3, "def"), end)


@pytest.mark.parametrize("words", ["abcdeX", "abcdefg"])
def test_a_long_reply_with_other_text_is_a_contradiction(words: str) -> None:
    """The digest finds another text of the same length, and the length a longer one."""
    view = fold_all([text(0, words), completed_long("abcdef")])
    assert view.contradicted
    assert not view.closed


def test_a_reply_that_is_not_the_text_is_a_contradiction() -> None:
    """The text that was shown stays as it is, and the turn does not close."""
    view = fold_all([text(0, "abc"), completed("abX")])
    assert view.contradicted
    assert not view.closed
    assert view.text == "abc"


@pytest.mark.parametrize("waiting", [text(5, "leak"), text(3, "leak"), text(2, "cleak"), text(1, "x")])
def test_waiting_text_that_the_reply_does_not_have_is_a_contradiction(waiting: ReleasedFrame) -> None:
    """Released text is noticed even if it could not be shown yet, in the last step and in one before it."""
    assert fold_all([waiting, completed("abc")]).contradicted
    assert fold_all([waiting, text(0, "", step=1), completed("abc", step=1)]).contradicted


def test_an_ending_of_a_higher_attempt_starts_its_step_empty() -> None:
    """A reader who was shown the dead attempt is told to drop it, and shown the text of the one that ended."""
    view = fold_all([text(0, "old"), completed("new", attempt=1)])
    assert view.news == (reset(1), text(0, "new", attempt=1), completed("new", attempt=1))
    assert view.text == "new"


def test_a_long_reply_without_digest_is_complete_by_its_length() -> None:
    """The digest is optional on the wire."""
    end = completed_long("abc").model_copy(update={"sha256": None})
    assert not fold_all([text(0, "ab"), end]).closed
    assert fold_all([text(0, "ab"), end, text(2, "c")]).closed


def test_a_contradicted_step_stays_as_it_is() -> None:
    """After a disagreement no further text of that attempt is believed; a new attempt is."""
    view = fold_all([text(0, "abc"), text(1, "XY"), text(3, "def")])
    assert view.contradicted
    assert view.text == "abc"
    fresh = fold(view, text(0, "new", attempt=1))
    assert not fresh.contradicted
    assert fresh.text == "new"


@pytest.mark.parametrize("end", [failed(), rejected(), cancelled()])
def test_other_endings_keep_the_text(end: ReleasedFrame) -> None:
    """What was released before a turn ended badly stays released."""
    view = fold_all([text(0, "so far"), end])
    assert view.terminal == end
    assert view.reply == "so far"


def test_a_block_is_the_reply() -> None:
    """The response of the pre-processor is shown, although no step has text."""
    view = fold_all([blocked("We are closed.")])
    assert view.closed
    assert view.reply == "We are closed."
    assert view.text == ""


def test_a_postprocessed_reply_is_shown_in_place_of_the_text() -> None:
    """The settled text stays what the terminal frame's reply is compared with."""
    view = fold_all([text(0, "abc"), postprocessed("abc!"), postprocessed("abc!"), completed("abc")])
    assert view.closed
    assert (view.text, view.reply) == ("abc", "abc!")
    assert fold_all([postprocessed("one"), postprocessed("two")]).contradicted


def test_nothing_changes_after_the_end() -> None:
    """Late text, resets and endings of a closed turn are dropped, and nothing is news."""
    closed = fold_all([text(0, "abc"), completed("abc")])
    for late in (text(3, "d"), text(0, "X"), reset(1), failed(), completed("abc"), postprocessed("z")):
        after = fold(closed, late)
        assert (after.text, after.terminal, after.reply) == ("abc", closed.terminal, "abc")
        assert after.news == ()
        assert not after.contradicted


def test_two_different_endings_are_a_contradiction() -> None:
    """The first one was still waiting for its text when another came."""
    view = fold_all([completed_long("abc"), failed(), text(0, "abc")])
    assert view.contradicted
    assert not view.closed


def test_frames_of_other_turns_are_not_taken() -> None:
    """A reader may fold all that a partition holds."""
    view = fold_all([text(0, "mine"), text(4, " and yours", turn_id="turn-2"), text(0, "X", tenant="other")])
    assert view.text == "mine"
    assert not view.contradicted


def test_the_given_view_is_left_as_it_was() -> None:
    """The fold is pure: an earlier view can be folded on another way."""
    before = fold_all([text(0, "abc")])
    fold(before, text(3, "def"))
    assert before.text == "abc"
    assert fold(before, text(3, "xyz")).text == "abcxyz"
