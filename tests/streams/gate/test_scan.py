"""An answer followed by a scanner: what goes out, after a restart, after a change of the chain, and when it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processors import Answer as Subject
from processors import Incremental, Replace, output_processor
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from processors.scanner import OpenScanner
from processors.testing import run_gate
from streams.gate.rope import Rope
from streams.gate.scan import AnswerScan, Scanner
from streams.gate.state import Answer

DIGITS = Redactor("digits", [Rule("N", Pattern(r"\d+"))])
FAMILY = "\U0001f469\u200d\U0001f4bb"
FLAG = "\U0001f1e9\U0001f1ea"


class Echo:
    """Is certain of all it reads."""

    def feed(self, delta: str) -> str:
        """Return it."""
        return delta

    def finish(self) -> str:
        """Return nothing."""
        return ""


class Mapped(Echo):
    """Is certain of what a function makes of each piece."""

    def __init__(self, change: Callable[[str], str]) -> None:
        self.change = change

    def feed(self, delta: str) -> str:
        """Return it changed."""
        return self.change(delta)


def follow(scan: AnswerScan, answer: Answer, *texts: str) -> tuple[Answer, list[str]]:
    """Let texts follow in an answer; return it, and what each let out."""
    releases = []
    for text in texts:
        out = scan.release(answer, text)
        releases.append(out)
        answer = replace(answer, text=answer.text.append(text), released=answer.released.append(out))
    return answer, releases


def answered(text: str, released: str) -> Answer:
    """Return an answer as the journal gives it."""
    return Answer(text=Rope(text), released=Rope(released))


def test_what_is_certain_goes_out_once() -> None:
    """As soon as the scanner says so."""
    _, releases = follow(AnswerScan(DIGITS.open_scanner), Answer(), "a 1", "2", " b", "", " 3")
    assert releases == ["a ", "", "[N] b", "", " "]


@given(st.lists(st.text("a1 ", max_size=3), max_size=8), st.integers(0, 8))
def test_a_scanner_made_again_from_the_buffer_goes_on_where_the_last_one_was(texts: list[str], at: int) -> None:
    """A worker that takes over lets out the same text."""
    _, undisturbed = follow(AnswerScan(DIGITS.open_scanner), Answer(), *texts)
    answer, before = follow(AnswerScan(DIGITS.open_scanner), Answer(), *texts[:at])
    _, after = follow(AnswerScan(DIGITS.open_scanner), answer, *texts[at:])
    assert before + after == undisturbed


def test_an_answer_that_went_on_elsewhere_is_read_anew() -> None:
    """What the scanner has read must be what the answer holds."""
    scan = AnswerScan(DIGITS.open_scanner)
    follow(scan, Answer(), "a 1")
    _, releases = follow(scan, answered("b 22", "b "), " c")
    assert releases == ["[N] c"]


def test_the_next_attempt_begins_with_a_scanner_of_its_own() -> None:
    """Nothing of the last one is left."""
    scan = AnswerScan(DIGITS.open_scanner)
    follow(scan, Answer(), "a 1")
    assert follow(scan, Answer(), "2", " b")[1] == ["", "[N] b"]


def test_text_that_another_chain_let_out_is_added_to_if_confirmed() -> None:
    """The new chain says the same so far."""
    assert follow(AnswerScan(DIGITS.open_scanner), answered("a 1 b", "a "), " c")[1] == ["[N] b c"]


def test_text_that_another_chain_let_out_is_waited_for() -> None:
    """The new chain has not come so far: silence until it has."""
    _, releases = follow(AnswerScan(DIGITS.open_scanner), answered("a 1", "a [N]"), "2", " ", "b")
    assert releases == ["", " ", "b"]


def test_text_that_another_chain_let_out_is_never_contradicted() -> None:
    """The new chain denies it: silence for good, and the whole answer decides."""
    _, releases = follow(AnswerScan(DIGITS.open_scanner), answered("a 12 b", "a 1"), " c", " d")
    assert releases == ["", ""]


@settings(max_examples=300)
@given(st.text("a1 ", max_size=6), st.text("a1 []N", max_size=6), st.lists(st.text("a1 ", max_size=3), max_size=5))
def test_whatever_is_out_another_scanner_only_adds_what_its_own_text_has_there(
    buffer: str, released: str, texts: list[str]
) -> None:
    """Silent, or what is out is the beginning of what it is certain of."""
    answer, releases = follow(AnswerScan(DIGITS.open_scanner), answered(buffer, released), *texts)
    if any(releases):
        whole = DIGITS.process(Subject(text=str(answer.text))).text
        assert whole.startswith(str(answer.released))


def raising(error: BaseException) -> Callable[[str], str]:
    """Return what raises from the second b on."""

    def change(text: str) -> str:
        if "b" in text:
            raise error
        return text

    return change


@pytest.mark.parametrize(
    "change",
    [
        raising(KeyError("x")),
        raising(SystemExit(1)),
        lambda text: None if "b" in text else text,
        lambda text: text.encode() if "b" in text else text,
        lambda text: 7 if "b" in text else text,
    ],
    ids=["raises", "exits", "None", "bytes", "number"],
)
def test_a_broken_scanner_is_silent_from_then_on(change: Callable[[str], str]) -> None:
    """Whatever it does when it breaks."""
    assert follow(AnswerScan(lambda: Mapped(change)), Answer(), "a", "b", "c")[1] == ["a", "", ""]


def test_a_scanner_that_cannot_be_opened_is_silent() -> None:
    """It is asked once for each answer."""
    asked: list[None] = []

    def refuse() -> Scanner:
        asked.append(None)
        raise OSError

    assert follow(AnswerScan(refuse), Answer(), "a", "b")[1] == ["", ""]
    assert asked == [None]


def test_half_a_character_of_a_scanner_is_replaced() -> None:
    """What goes out can be written as UTF-8."""
    assert follow(AnswerScan(lambda: Mapped(lambda text: text + "\ud83d")), Answer(), "a")[1] == ["a\ufffd"]


@pytest.mark.parametrize(
    ("texts", "releases"),
    [
        ((FAMILY[:2], FAMILY[2:], "."), ["", FAMILY, "."]),
        ((FLAG[0], FLAG[1], "."), ["", FLAG, "."]),
        ((FLAG + FLAG[0], FLAG[1] + FLAG[0], "."), [FLAG, FLAG, FLAG[0] + "."]),
        (("a\r", "\nb"), ["a", "\r\nb"]),
    ],
)
def test_no_release_ends_within_a_character_that_readers_see(texts: tuple[str, ...], releases: list[str]) -> None:
    """Though the scanner is certain of it."""
    assert follow(AnswerScan(Echo), Answer(), *texts)[1] == releases


def processor(scanner: OpenScanner, change: Callable[[str], str]) -> object:
    """Return a processor whose scanner and whole-answer pass need not agree."""

    @output_processor(
        name="two-faced", incremental=Incremental(lookback_chars=0), open_scanner=scanner, linear_time=True
    )
    def judge(answer: Subject) -> Replace:
        return Replace(change(answer.text))

    return judge


def test_the_whole_answer_has_the_last_word() -> None:
    """A broken scanner takes nothing from the reader but time."""
    chain = [processor(lambda: Mapped(raising(KeyError())), str.upper)]
    result = run_gate(chain, ["1", "b", "c"])
    assert (result.outcome, result.text, result.releases) == ("completed", "1BC", ["1", "BC"])


def test_a_scanner_that_said_something_else_fails_the_turn() -> None:
    """What is out cannot be taken back, and no more comes."""
    result = run_gate([processor(Echo, str.upper)], ["1 ", "b", "c"])
    assert (result.outcome, result.text, result.error) == ("failed", "1 bc", "ProcessorFailedError")


@pytest.mark.parametrize("frames", [["a 1", "2 ", "b"], [{"text": "a 12 b", "finish_reason": "stop"}]])
def test_a_chain_that_scans_gives_what_its_whole_answer_gives(frames: list[str]) -> None:
    """In as many frames as there are, the last text with the finish too."""
    result = run_gate([DIGITS], frames)
    assert (result.outcome, result.text) == ("completed", "a [N] b")


def test_reasoning_and_tool_calls_between_two_halves_of_a_match_let_nothing_out() -> None:
    """Only the answer's text is read."""
    call = {"tool_calls": [{"index": 0, "id": "1", "name": "f", "arguments": "{}"}]}
    result = run_gate([DIGITS], ["a 1", {"reasoning": "hm"}, call, "2", " b"])
    assert (result.text, result.releases[0]) == ("a [N] b", "a ")


def test_long_releases_come_in_pieces() -> None:
    """No record grows beyond what a broker takes."""
    text = "\x01" * 200_000
    result = run_gate([DIGITS], ["1", text, " b"])
    assert result.text == f"[N]{text} b"
    assert max(map(len, result.releases)) < len(text)
