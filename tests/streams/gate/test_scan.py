"""Answers that are read once: what a scanner is certain of goes out, and it is believed no more than a prefix pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.outcomes import Approved, Refused
from streams.gate import entries, events, machine
from streams.gate.policy import Policy
from streams.gate.rope import Rope
from streams.gate.scan import AnswerScan
from streams.gate.state import Answer, Phase
from tests.streams.gate.play import Play, answer_in, frame, mapped
from topics.content import ToolCall
from topics.records import CompletedFrame, FailedFrame, ModelError, ToolCallDelta

SCAN = Policy(mode="scan")


@dataclass
class Scanner:
    """Changes a text, and is certain of all but the last `window` characters of what it made. `fed` is what it read."""

    change: Callable[[str], str] = str
    window: int = 2
    fed: list[str] = field(default_factory=list)
    out: str = ""

    def feed(self, delta: str) -> str:
        """Take in more."""
        self.fed.append(delta)
        made = self.change("".join(self.fed))
        certain = made[: max(len(made) - self.window, 0)]
        new, self.out = certain[len(self.out) :], max(certain, self.out, key=len)
        return new


@dataclass
class Opened:
    """Opens scanners, and keeps those that it opened."""

    make: Callable[[], Scanner] = Scanner
    scanners: list[Scanner] = field(default_factory=list)

    def __call__(self) -> Scanner:
        """Open one."""
        self.scanners.append(self.make())
        return self.scanners[-1]

    @property
    def fed(self) -> list[list[str]]:
        """What each scanner read."""
        return [scanner.fed for scanner in self.scanners]


def scanned(change: Callable[[str], str] = str, window: int = 2, policy: Policy = SCAN) -> tuple[Play, Opened]:
    """Return a turn that waits for the model's answer and is followed by a scanner, and what opens those."""
    opened = Opened(lambda: Scanner(change, window))
    return Play(policy, scan=AnswerScan(opened)).start(), opened


def test_what_is_certain_goes_out_with_the_frames_that_made_it_so() -> None:
    """In one record, and without a pass."""
    play, opened = scanned(str.upper)
    play.frames(frame(0, "some words "))
    assert play.records[-1].entry == entries.Llm(seq=1, text="some words ", release="SOME WORD")
    assert machine.work(play.turn, SCAN) is None
    play.text("and more")
    assert play.releases == ["SOME WORD", "S AND MO"]
    assert opened.fed == [["some words ", "and more"]]


def test_the_whole_answer_pass_has_the_last_word() -> None:
    """It settles what the scanner still held."""
    play, _ = scanned(str.upper)
    play.stream(answer_in(["some ", "words"]), mapped(str.upper))
    assert play.outcome == "completed"
    assert play.view.text == "SOME WORDS"
    assert play.of(CompletedFrame)[0].reply == "SOME WORDS"


@pytest.mark.parametrize("outcome", [Approved("other words"), Refused("guard", "policy")])
def test_a_pass_that_says_otherwise_ends_the_turn(outcome: Approved | Refused) -> None:
    """Nothing more is released than what was out."""
    play, _ = scanned()
    play.text("some words").finish()
    play.passed(outcome, final=True)
    assert play.outcome in ("failed", "rejected")
    assert play.releases == ["some wor"]


def test_releases_end_between_characters_as_readers_see_them() -> None:
    """Being certain is not enough."""
    play, _ = scanned(window=0)
    for piece in ("a\r", "\nb\u200d", "\u200d"):
        play.text(piece)
    assert play.releases == ["a", "\r\n"]


@pytest.mark.parametrize("delivery", ["stream", "final"])
def test_with_final_delivery_nothing_is_scanned(delivery: str) -> None:
    """Nobody would see it."""
    opened = Opened()
    play = Play(SCAN, scan=AnswerScan(opened), delivery=delivery).start().text("some words")
    assert bool(opened.scanners) == bool(play.releases) == (delivery == "stream")


def test_a_chain_without_scanners_to_be_had_is_a_whole_answer_chain() -> None:
    """Nothing goes out before the pass."""
    play = Play(SCAN).start().stream(answer_in(["some ", "words"]), mapped(str))
    assert play.releases == ["some words"]


def test_frames_without_text_release_nothing_that_is_held() -> None:
    """Tool calls and signs of life among them."""
    play, _ = scanned(window=4)
    play.text("The 000-")
    out = play.releases
    play.frames(frame(1, tool_call_delta=ToolCallDelta(arguments="{}")), frame(2, reasoning="hm"), frame(3))
    assert play.releases == out == ["The "]
    play.finish()
    assert play.releases == out
    play.passed(Approved("The 000-", (ToolCall(id="", name=""),)), final=True)
    assert play.view.text == "The 000-"


def test_a_new_attempt_is_read_by_a_new_scanner() -> None:
    """From its beginning."""
    play, opened = scanned()
    play.text("first")
    play.frames(frame(1, error=ModelError(retryable=True)))
    play.frames(frame(0, "second", attempt=1))
    assert opened.fed == [["first"], ["second"]]
    assert play.releases == ["fir", "seco"]
    assert play.view.text == "seco"


def broken_feed() -> Scanner:
    """Return a scanner that breaks at the letter z."""

    def change(text: str) -> str:
        if "z" in text:
            raise KeyError(text)
        return text

    return Scanner(change, window=0)


def test_a_scanner_that_breaks_is_silent_and_not_asked_again() -> None:
    """Whether its processor is broken is for the whole answer to show."""
    opened = Opened(broken_feed)
    play = Play(SCAN, scan=AnswerScan(opened)).start().text("ab")
    play.text("z")
    play.text("cd")
    assert play.releases == ["ab"]
    assert opened.fed == [["ab", "z"]]
    play.finish().judge(mapped(str))
    assert (play.view.text, play.outcome) == ("abzcd", "completed")


def test_a_scanner_that_cannot_be_opened_is_silent() -> None:
    """The same goes for it."""
    tries: list[int] = []

    def fail() -> Scanner:
        tries.append(1)
        raise KeyError

    play = Play(SCAN, scan=AnswerScan(fail)).start().text("ab", "cd")
    play.text("ef")
    assert (play.releases, len(tries)) == ([], 1)
    play.finish().judge(mapped(str))
    assert play.view.text == "abcdef"


def test_a_successor_reads_the_buffer_again_and_adds_to_what_is_out() -> None:
    """Its scanner is a new one."""
    first, _ = scanned(str.upper)
    first.text("some ")
    first.text("words ")
    for kept in range(2, len(first.records) + 1):
        opened = Opened(lambda: Scanner(str.upper))
        play = Play.resumed(first.records[:kept], SCAN, AnswerScan(opened))
        play.stream(answer_in(["some ", "words ", "and more"]), mapped(str.upper))
        assert (play.view.text, play.outcome) == ("SOME WORDS AND MORE", "completed")
        assert len(opened.scanners) == 1
        assert "".join(opened.fed[0]) == "some words and more"


def test_a_successor_whose_scanner_is_slower_waits_until_it_has_caught_up() -> None:
    """What is out is confirmed first."""
    first, _ = scanned(window=0)
    first.text("some words ")
    play = Play.resumed(first.records, SCAN, AnswerScan(lambda: Scanner(window=8)))
    out = len(play.releases)
    play.text("and")
    assert play.releases[out:] == []
    play.text(" more of them")
    assert play.releases[out:] == ["and more"]


def test_a_successor_whose_scanner_denies_what_is_out_is_silent() -> None:
    """Until the whole answer shows that the chain does too."""
    first, _ = scanned(window=0)
    first.text("some words ")
    play = Play.resumed(first.records, SCAN, AnswerScan(lambda: Scanner(str.upper, window=0)))
    out = play.releases
    play.text("and ").text("more").finish()
    assert play.releases == out
    play.judge(mapped(str.upper))
    assert play.of(FailedFrame)[0].error == "ProcessorFailedError"
    assert play.releases == out


def test_a_long_release_is_in_records_of_its_own() -> None:
    """So that text and release together are not too much for one."""
    policy = replace(SCAN, max_record_bytes=600)
    play, _ = scanned(lambda text: text.replace("a", '"' * 40), window=0, policy=policy)
    play.text("a" * 50)
    play.stream([frame(1, "b" * 90), frame(2, finish_reason="stop")], mapped(lambda t: t.replace("a", '"' * 40)))
    assert play.view.text == '"' * 2_000 + "b" * 90
    assert all(len(record.encode()) < 600 + 250 for record in play.records)
    assert all(record.entry != entries.Llm() for record in play.records)


def test_a_long_text_of_which_nothing_may_go_out_is_one_record() -> None:
    """An empty release is none."""
    play, _ = scanned(window=1_000, policy=replace(SCAN, max_record_bytes=600))
    assert len(play.frames(frame(0, "a" * 500))) == 1


def test_the_scan_itself_says_what_goes_out() -> None:
    """Measured against what is out, for texts that continue what it read or not."""
    scan = AnswerScan(lambda: Scanner(window=1))
    assert scan.release(Answer(), "abc") == "ab"
    after = Answer(text=Rope("abc"), released=Rope("ab"))
    assert scan.release(after, "de") == "cd"
    assert scan.release(Answer(text=Rope("xyz")), "!") == "xyz"


CHAINS: Sequence[Callable[[str], str]] = (
    str,
    str.upper,
    lambda text: text.replace("a", "[x]"),
    lambda text: text[::-1],
)


@given(
    st.lists(st.sampled_from(["a", "b\r", "\n", "e\u0301", "\U0001f1e9", ""]), max_size=10),
    st.sampled_from(CHAINS),
    st.sampled_from(CHAINS),
    st.integers(0, 3),
    st.data(),
)
def test_whatever_scans_and_whoever_dies_readers_are_told_one_story(
    texts: list[str], first: Callable[[str], str], second: Callable[[str], str], window: int, data: st.DataObject
) -> None:
    """A scanner that does not do what its processor does, and a successor with yet another."""
    frames = answer_in(texts)
    play, _ = scanned(first, window)
    play.stream(frames[: data.draw(st.integers(0, len(frames)))], mapped(first))
    kept = play.records[: data.draw(st.integers(2, len(play.records)))]
    other = Play.resumed(kept, SCAN, AnswerScan(lambda: Scanner(second, window)))
    other.judge(mapped(second))
    other.stream(frames, mapped(second))
    assert other.phase is Phase.ENDED
    assert other.outcome is not None
    assert not other.view.contradicted
    if other.outcome == "completed":
        assert other.of(CompletedFrame)[0].reply == "".join(other.releases)


def test_a_cancelled_turn_is_not_scanned_any_further() -> None:
    """It is over."""
    play, opened = scanned()
    play.text("ab")
    play.happen(events.Cancel())
    play.text("cd")
    assert opened.fed == [["ab"]]
