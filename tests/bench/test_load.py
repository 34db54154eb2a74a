"""The load and what is made of it: the same bytes for everyone, and times per character."""

from __future__ import annotations

import itertools

import pytest

from bench.frames import FRAME_BYTES, PARTITIONS, interleaved, steady
from bench.hops import probe_frames
from bench.journal import one_answer, text_bytes
from bench.latency import WORDS, Pace, Written, forwarded, quantile, released
from bench.rounds import FailedError
from bench.scanned import three
from processors.testing import run_gate
from topics import codec, names


def test_every_frame_is_one_that_a_model_runner_could_have_written_of_89_bytes() -> None:
    """In order, without gaps, the last of each turn ends it."""
    seqs: dict[str, int] = {}
    for frame in interleaved(7, 12):
        record = codec.decode(frame.value, names.MODEL_FRAME)
        assert len(frame.value) == FRAME_BYTES
        assert (record.turn, record.text) == (frame.turn, frame.text)
        assert record.seq == seqs.get(frame.key.decode(), 0)
        seqs[frame.key.decode()] = record.seq + 1
        assert (record.finish_reason == "stop") == (record.seq == 11)
        assert frame.partition == frame.turn.thread.partition(PARTITIONS)
    assert set(seqs.values()) == {12}
    assert len(seqs) == 7


def test_one_answer_is_as_long_as_asked_for_and_ends() -> None:
    """It is made of the same kind of frames."""
    answer = one_answer(3, 5_000)
    assert 5_000 <= text_bytes(answer) < 5_000 + 2 * FRAME_BYTES
    assert b'"finish_reason":"stop"' in answer[-1].value
    assert {len(frame.value) for frame in answer[:-1]} == {FRAME_BYTES}


def test_there_is_a_probe_for_every_partition() -> None:
    """A program that has answered all of them has all its partitions."""
    assert {frame.partition for frame in probe_frames()} == set(range(PARTITIONS))


def test_no_redactor_holds_anything_of_a_latency_frame() -> None:
    """Or the time that text waits for the next frame would be taken for the time that it takes."""
    texts = [frame.text for frame in interleaved(1, 200, WORDS)]
    run = run_gate(three, texts)
    assert run.releases == texts


def test_added_time_is_that_of_each_character() -> None:
    """A release of parts of two frames took as long as each has been written; the first second does not count."""
    pace = Pace(500, turns=1)
    frames = list(interleaved(1, 3, WORDS))
    written = Written(warm_from=10.0)
    for number, frame in enumerate(frames):
        written.note(frame, 9.0 + number)
    first, second, third = (len(frame.text) for frame in frames)
    text = "".join(frame.text for frame in frames)
    reads = [
        (9.5, _text(text[: first + 2], 0)),
        (12.5, _text(text[first + 2 : first + second + 1], first + 2)),
        (13.0, _text(text[first + second + 1 :], first + second + 1)),
        (14.0, b'{"kind":"completed"}'),
    ]
    added = released(written, reads)
    assert added == [(-0.5, 2), (2.5, second - 2), (1.5, 1), (2.0, third - 1)]
    values = {measure.name: value for measure, value in pace.values(added, 3, 3).items()}
    assert values["texts per 100 frames, 500 frames/s"] == 100


def test_added_time_of_frames_that_are_put_on() -> None:
    """All characters of a frame are readable at once."""
    frames = list(interleaved(2, 2, WORDS))
    written = Written()
    for number, frame in enumerate(frames):
        written.note(frame, float(number))
    added = forwarded(written, [(5.0, frame.value) for frame in reversed(frames)])
    assert [time for time, _ in added] == [2.0, 3.0, 4.0, 5.0]
    assert sum(chars for _, chars in added) == sum(len(frame.text) for frame in frames)


def test_a_quantile_weighs_by_characters() -> None:
    """One frame of many characters outweighs two of few."""
    weighted = [(3.0, 1), (1.0, 8), (2.0, 1)]
    assert quantile(weighted, 0.5) == 1.0
    assert quantile(weighted, 0.9) == 2.0
    assert quantile(weighted, 0.99) == 3.0
    with pytest.raises(FailedError):
        quantile([], 0.5)


def _text(text: str, offset: int) -> bytes:
    return codec.dump({"kind": "text", "thread_id": "t-000", "offset": offset, "text": text})


def test_turns_that_speak_at_any_time_end_one_by_one_and_others_take_their_place() -> None:
    """As many speak at once as there are slots; every turn's frames are in order, and its last one ends it."""
    frames = list(steady(4, 60, 5, WORDS))
    ends = [number for number, frame in enumerate(frames) if b'"finish_reason"' in frame.value]
    assert {later - sooner for sooner, later in itertools.pairwise(ends)} <= {3, 4, 5, 8, 9}, "never two in a row"
    seqs: dict[str, list[int]] = {}
    for frame in frames:
        assert len(frame.value) == FRAME_BYTES
        seqs.setdefault(frame.turn.turn_id, []).append(frame.seq)
    assert all(seq == list(range(len(seq))) for seq in seqs.values())
    assert max(map(len, seqs.values())) == 5
    for start in range(0, 60, 4):
        assert len({frame.turn for frame in frames[start : start + 4]}) == 4


def test_each_turn_is_asked_for_before_its_first_frame() -> None:
    """At the time of that frame, and once."""
    pace = Pace(100, turns=4, seconds=20.0)
    frames = pace.frames()
    begins = pace.begins(frames)
    assert [turn for _, turn in begins] == list(dict.fromkeys(frame.turn for frame in frames))
    assert [frames[round(at * pace.rate)].seq for at, _ in begins] == [0] * len(begins)
