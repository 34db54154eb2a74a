"""What is known of the course of turns: put together from records in any order, bounded, and without anybody's words."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import pytest

from streams.gateway.held import Held
from streams.gateway.ids import public_id
from streams.gateway.pulse import Meter
from streams.gateway.timeline import timeline, written
from streams.gateway.traces import Traces
from topics.content import Usage
from topics.fold import TurnView, fold
from topics.ids import TurnKey
from topics.records import CompletedFrame, Decision, ModelFrame, ResetFrame, TextFrame, UsageRecord

TURN = TurnKey("acme", "thread", "turn")
IDS = TURN._asdict()
SINCE = 1_000.0
LONGEST = 60.0
#: A turn that comes then began after everything is read.
LATER = SINCE + LONGEST + 1


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def traces(*, now: float = LATER, **changes: Any) -> Traces:
    """Return traces of turns that take a minute at most."""
    return Traces(since=SINCE, longest_turn_s=LONGEST, clock=Clock(now), **changes)


def decision(phase: Any = "output", at: float = LATER, **changes: Any) -> Decision:
    """Return what a processor decided."""
    given = {**IDS, "processor": "redact", "version": "1", "verdict": "pass", "time_ms": 500.0, **changes}
    return Decision(phase=phase, at=at, **given)


def held(*frames: Any) -> Held:
    """Return what is held of the turn once these were released."""
    view = TurnView(TURN)
    for frame in frames:
        view = fold(view, frame)
    return Held(view)


def test_a_timeline_says_what_ran_when_and_how_much_came_out() -> None:
    """Each processor from its beginning to its end, each release with its length, and the model's own frames."""
    kept = traces(watch="count")
    kept.asked(TURN, new=True)
    kept.take_decision(decision("pre", LATER + 1, processor="mask", verdict="proceed"))
    kept.take_written(ModelFrame(**IDS, seq=0, text="Write to b"), LATER + 2)
    kept.take_written(ModelFrame(**IDS, seq=1, text="ob@example.org"), LATER + 3)
    kept.take_released(TextFrame(**IDS, text="Write to "), LATER + 3.5)
    told = timeline(held(TextFrame(**IDS, text="Write to ")), kept.get(TURN), LATER + 4)
    assert (told.state, told.whole, told.began_at, told.first_text_at, told.ended_at) == (
        "running",
        True,
        LATER,
        LATER + 3.5,
        None,
    )
    assert [(one.phase, one.processor, one.start, one.end) for one in told.ran] == [
        ("pre", "mask", LATER + 0.5, LATER + 1)
    ]
    (call,) = told.wrote
    assert (call.counted, call.start, call.end, call.chars, call.frames, call.released, call.finished) == (
        True,
        LATER + 2,
        LATER + 3,
        24,
        2,
        9,
        False,
    )
    assert told.held == 24 - 9
    assert [(one.at, one.chars) for one in told.out] == [(LATER + 3.5, 9)]


def test_nothing_is_held_once_a_turn_has_ended() -> None:
    """Though the chain may have made its answer shorter than the model wrote it."""
    kept = traces(watch="count")
    end = CompletedFrame(**IDS, offset=2, reply="Hi", length=2, finish_reason="stop")
    kept.take_written(ModelFrame(**IDS, seq=0, text="Hi you there", finish_reason="stop"), LATER)
    for frame in (TextFrame(**IDS, text="Hi"), end):
        kept.take_released(frame, LATER + 1)
    told = timeline(held(TextFrame(**IDS, text="Hi"), end), kept.get(TURN), LATER + 9)
    assert (told.state, told.held, told.ended_at) == ("completed", None, LATER + 1)


def test_without_models_frames_nobody_claims_to_know_how_much_is_held() -> None:
    """Then the prompt's being ready and the usage record bound the model's time."""
    kept = traces()
    kept.asked(TURN, new=True)
    kept.take_decision(decision("input", LATER + 1))
    told = timeline(held(), kept.get(TURN), LATER + 2)
    (call,) = told.wrote
    assert (told.held, call.counted, call.chars, call.start, call.end) == (None, False, None, LATER + 1, None)
    usage = Usage(prompt_tokens=3, completion_tokens=4)
    kept.take_usage(UsageRecord(**IDS, id="u", agent="a", usage=usage, outcome="completed", at=LATER + 3))
    (call,) = timeline(held(), kept.get(TURN), LATER + 4).wrote
    assert (call.end, call.finished, call.usage, call.outcome) == (LATER + 3, True, usage, "completed")


def test_frames_of_a_model_that_began_before_they_were_read_are_no_count() -> None:
    """What came before is missing from it."""
    kept = traces(watch="count")
    kept.take_written(ModelFrame(**IDS, seq=7, text="the rest"), LATER)
    told = timeline(held(), kept.get(TURN), LATER + 1)
    assert [(one.counted, one.chars) for one in told.wrote] == [(False, None)]
    assert told.held is None


def test_what_comes_twice_counts_once() -> None:
    """Decisions and frames are written at least once."""
    kept = traces(watch="count")
    for _ in range(3):
        kept.take_decision(decision(changes=2, verdict="replace"))
        kept.take_written(ModelFrame(**IDS, seq=0, text="abc"), LATER)
        kept.take_released(TextFrame(**IDS, text="ab"), LATER + 1)
    told = timeline(held(), kept.get(TURN), LATER + 2)
    assert (len(told.ran), told.wrote[0].chars, len(told.out)) == (1, 3, 1)
    tally = kept.tally("acme", "output", "redact")
    assert (tally["runs"], tally["replace"], tally["changes"]) == (1, 1, 2)
    assert kept.tally("globex", "output", "redact")["runs"] == 0


def test_text_that_was_taken_back_is_told() -> None:
    """As a release of nothing, under the new attempt."""
    kept = traces()
    kept.take_released(TextFrame(**IDS, text="Hello"), LATER)
    kept.take_released(ResetFrame(**IDS, attempt=1), LATER + 1)
    kept.take_released(TextFrame(**IDS, attempt=1, text="Hi"), LATER + 2)
    told = timeline(held(), kept.get(TURN), LATER + 3)
    assert [(one.attempt, one.chars) for one in told.out] == [(0, 5), (1, 0), (1, 2)]


def test_the_words_of_processors_are_not_kept() -> None:
    """A reason may quote what was to be hidden."""
    kept = traces()
    kept.take_decision(decision(verdict="reject", reason="xylophone", metadata={"found": "xylophone"}))
    told = timeline(held(), kept.get(TURN), LATER + 1)
    assert "xylophone" not in told.model_dump_json()
    assert "xylophone" not in repr(kept.get(TURN))


@pytest.mark.parametrize("watch", ["off", "count"])
def test_text_of_models_is_kept_only_where_it_is_shown(watch: Any) -> None:
    """A count is a count."""
    kept = traces(watch=watch)
    kept.take_written(ModelFrame(**IDS, seq=0, text="xylophone"), LATER)
    assert "xylophone" not in repr(kept.get(TURN))
    assert [one.text for one in written(kept.get(TURN)).written] == [""]


def test_text_of_models_that_is_shown_is_bounded_and_whole_characters() -> None:
    """Halves of a character that came in two frames are put together, a half that is left is marked."""
    kept = traces(watch="show")
    kept.take_written(ModelFrame.model_construct(**IDS, step=0, attempt=0, seq=0, text="a\ud83d"), LATER)
    kept.take_written(ModelFrame.model_construct(**IDS, step=0, attempt=0, seq=1, text="\ude00b\ud83d"), LATER)
    (shown,) = written(kept.get(TURN)).written
    assert (shown.text, shown.complete) == ("a\U0001f600b\ufffd", True)
    kept.take_written(ModelFrame(**IDS, seq=2, text="x" * 50_000), LATER)
    (shown,) = written(kept.get(TURN)).written
    assert (len(shown.text) < 25_000, shown.complete) == (True, False)


def test_only_the_latest_turns_are_kept_and_what_they_miss_is_said() -> None:
    """A turn that was let go while it was open is not whole when more of it comes."""
    kept = traces(max_turns=10)
    kept.asked(TURN, new=True)
    for number in range(50):
        kept.asked(TurnKey("acme", "thread", f"turn-{number}"), new=True)
    assert kept.get(TURN) is None
    assert sum(kept.get(TurnKey("acme", "thread", f"turn-{number}")) is not None for number in range(50)) == 10
    kept.take_decision(decision(at=LATER + 1))
    told = timeline(held(), kept.get(TURN), LATER + 2)
    assert (told.whole, len(told.ran)) == (False, 1)


def test_very_many_releases_are_added_up() -> None:
    """No text is missing from the sum."""
    kept = traces()
    for number in range(3_000):
        kept.take_released(TextFrame(**IDS, offset=number, text="x"), LATER + number / 1000)
    told = timeline(held(), kept.get(TURN), LATER + 9)
    assert sum(one.chars for one in told.out) == 3_000
    assert 32 < len(told.out) <= 128
    assert max(one.at for one in told.out) == LATER + 2.999
    assert [one.at for one in told.out] == sorted(one.at for one in told.out)


def test_the_order_of_topics_does_not_matter() -> None:
    """Records of different topics come as they like; those of one topic stay in their order."""
    released = [TextFrame(**IDS, text="ab"), TextFrame(**IDS, offset=2, text="c")]
    model = [ModelFrame(**IDS, seq=0, text="abc"), ModelFrame(**IDS, seq=1, text="d", finish_reason="stop")]
    decided = [decision("pre", LATER), decision("output", LATER + 5)]
    seen = set()
    for seed in range(50):
        rng, kept = random.Random(seed), traces(watch="count")
        queues: list[list[Any]] = [
            [partial(kept.take_released, one, LATER + 2) for one in released],
            [partial(kept.take_written, one, LATER + 1) for one in model],
            [partial(kept.take_decision, one) for one in decided],
        ]
        while any(queues):
            rng.choice([one for one in queues if one]).pop(0)()
        seen.add(timeline(held(*released), kept.get(TURN), LATER + 9).model_dump_json())
    assert len(seen) == 1


def test_a_turn_of_which_nothing_is_known_has_an_empty_course() -> None:
    """It may have begun long ago, or not exist."""
    told = timeline(held(), None, LATER)
    assert (told.id, told.whole, told.ran, told.out, told.state) == (public_id(TURN), False, [], [], "pending")


def ended(kept: Traces, number: int, took: float, **changes: Any) -> None:
    """Have a turn end that began `LATER` and showed text half a second after that."""
    ids = {**IDS, "turn_id": f"t{number}", **changes}
    end = CompletedFrame(**ids, offset=1, reply="a", length=1, finish_reason="stop")
    kept.take_released(TextFrame(**ids, text="a"), LATER + 0.5)
    kept.take_released(end, LATER + took)
    # What tells of the beginning may come after the end.
    kept.take_decision(decision(at=LATER, **{**ids, "time_ms": 0.0}))
    kept.take_released(end, LATER + took + 100)


def test_the_pulse_counts_each_turn_once_in_the_slot_in_which_it_ended() -> None:
    """And says how long it took, to within a tenth; however many turns there are beside those that are kept."""
    clock = Clock(LATER)
    meter = Meter(slot_s=10, slots=6, settle_s=2, clock=clock)
    kept = Traces(since=SINCE, longest_turn_s=LONGEST, max_turns=2, ended=meter.ended, clock=clock)
    for number, took in enumerate((1.0, 2.0, 3.0, 40.0)):
        ended(kept, number, took)
    ended(kept, 9, 1.0, tenant="globex")
    assert not any(slot.ended for slot in meter.of("acme").slots), "their beginning may not be known yet"
    clock.now = LATER + 45
    told = meter.of("acme")
    first = math.floor(LATER / 10) * 10
    assert {slot.start: slot.ended for slot in told.slots if slot.ended} == {
        first: {"completed": 3},
        first + 40: {"completed": 1},
    }
    (busy,) = (slot for slot in told.slots if slot.start == first)
    assert busy.whole_s is not None
    assert busy.first_s is not None
    for found, true in ((busy.whole_s.p50, 2.0), (busy.whole_s.p95, 3.0), (busy.first_s.p50, 0.5)):
        assert true <= found <= 1.1 * true
    assert [slot.ended for slot in meter.of("globex").slots if slot.ended] == [{"completed": 1}]
    clock.now = LATER + 1_000
    assert not any(slot.ended for slot in meter.of("acme").slots)


def test_the_pulse_times_no_turn_whose_beginning_is_not_known() -> None:
    """It would look faster than it was; that it ended is counted."""
    clock = Clock(SINCE + 1)
    meter = Meter(settle_s=0, clock=clock)
    kept = Traces(since=SINCE, longest_turn_s=LONGEST, ended=meter.ended, clock=clock)
    kept.take_released(TextFrame(**IDS, text="a"), SINCE + 1)
    kept.take_released(CompletedFrame(**IDS, offset=1, reply="a", length=1, finish_reason="stop"), SINCE + 1)
    (slot,) = (slot for slot in meter.of("acme").slots if slot.ended)
    assert (slot.ended, slot.first_s, slot.whole_s) == ({"completed": 1}, None, None)


def test_the_pulse_is_bounded_in_tenants_and_slots() -> None:
    """The tenant that was heard of longest ago is forgotten first."""
    clock = Clock(LATER)
    meter = Meter(slot_s=10, slots=6, settle_s=0, max_tenants=3, clock=clock)
    kept = Traces(since=SINCE, longest_turn_s=LONGEST, ended=meter.ended, clock=clock)
    for number in range(5):
        ended(kept, number, 1.0, tenant=f"tenant-{number}")
    known = [number for number in range(5) if any(slot.ended for slot in meter.of(f"tenant-{number}").slots)]
    assert known == [2, 3, 4]
    for minute in range(20):
        clock.now = LATER + 60 * minute
        kept.take_released(
            CompletedFrame(**{**IDS, "turn_id": str(minute)}, offset=0, reply="", length=0, finish_reason="stop"),
            clock.now,
        )
    assert len(meter._tenants["acme"]) <= 6
