"""Scanners: those that say what their processor says, and those that do not."""

from __future__ import annotations

from processors import Answer, Pass, Replace, output_processor
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from processors.testing import check_promise
from tests.processors.checker.finding import example, kinds, the


class Hasty:
    """Lets all but two characters of a text go, whatever they may become."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, delta: str) -> str:
        """Hold two characters."""
        self._held += delta
        out, self._held = self._held[:-2], self._held[-2:]
        return out.replace("1234", "####")

    def finish(self) -> str:
        """Return the rest."""
        return self._held.replace("1234", "####")


class Forgetful(Hasty):
    """Never says the rest."""

    def finish(self) -> str:
        """Return nothing."""
        return ""


class Singly:
    """Is wrong only if text comes in single characters."""

    def __init__(self) -> None:
        self._last = ""

    def feed(self, delta: str) -> str:
        """Lose the character behind a single one."""
        last, self._last = self._last, delta
        return "" if len(delta) == 1 and len(last) == 1 and last == "q" else delta

    def finish(self) -> str:
        """Return the rest."""
        return ""


class Throwing(Singly):
    """Throws at some texts."""

    def feed(self, delta: str) -> str:
        """Throw."""
        if "fox" in delta:
            raise ValueError(delta)
        return delta


@output_processor("hasty", open_scanner=Hasty)
def hasty(answer: Answer) -> Replace:
    """Replace a pin."""
    return Replace(answer.text.replace("1234", "####"))


@output_processor("forgetful", open_scanner=Forgetful)
def forgetful(answer: Answer) -> Pass:
    """Let everything pass."""
    assert answer.text is not None
    return Pass()


@output_processor("singly", open_scanner=Singly)
def singly(answer: Answer) -> Pass:
    """Let everything pass."""
    assert answer.text is not None
    return Pass()


@output_processor("throwing", open_scanner=Throwing)
def throwing(answer: Answer) -> Pass:
    """Let everything pass."""
    assert answer.text is not None
    return Pass()


def redactor(name: str, pattern: str) -> Redactor:
    """Return a redactor for one pattern."""
    return Redactor(name, [Rule(name.upper(), Pattern(pattern))])


def test_a_redactor_with_a_scanner_passes() -> None:
    """On texts that its own pattern suggests as well: no other has a number like this."""
    report = check_promise([redactor("staff", r"EMP-\d{6}")])
    assert report.ok
    assert report.mode == "scan"
    assert report.findings == ()
    assert (report.members[0].scans, report.members[0].smallest) == (True, 0)


def test_a_scanner_that_may_hold_back_without_limit_passes_with_a_note() -> None:
    """That is a matter of delay, not of leaks."""
    report = check_promise([redactor("mail", r"[\w.]+@[\w.]+\.[a-z]{2,}")])
    assert report.ok
    assert the(report, "holds-back", "mail").level == "note"


def test_a_chain_of_redactors_is_checked_stage_to_stage() -> None:
    """The second one looks for what the first one writes."""
    chain = [redactor("staff", r"EMP-\d{2}"), redactor("again", r"\[STAFF\]!?")]
    report = check_promise(chain)
    assert report.ok
    assert report.chain is not None
    assert report.chain.scans


def test_a_scanner_that_lies_is_caught_with_the_shortest_text() -> None:
    """It releases half of a pin, which its processor hides."""
    report = check_promise([hasty])
    shortest = example(the(report, "scanner", "hasty"))
    assert shortest.head + shortest.tail == "1234"
    assert kinds(report) == {"scanner"}


def test_a_scanner_that_loses_the_end_is_caught() -> None:
    """A single character is enough to show it."""
    shortest = example(the(check_promise([forgetful]), "scanner", "forgetful"))
    assert len(shortest.head + shortest.tail) == 1


def test_a_scanner_that_is_wrong_for_single_characters_only_is_caught() -> None:
    """No split in two shows it."""
    shortest = example(the(check_promise([singly]), "scanner", "singly"))
    whole = shortest.head + shortest.tail
    assert (len(whole), whole[0]) == (2, "q")


def test_a_scanner_that_throws_is_a_warning() -> None:
    """It is silent from then on, and the whole answer is judged all the same."""
    report = check_promise([throwing])
    found = the(report, "scanner-throws", "throwing")
    assert (found.level, report.ok) == ("warning", True)
    assert "ValueError" in found.message


class Rereading(Hasty):
    """Right in what it says, and reads all it was ever given again each time."""

    def __init__(self) -> None:
        super().__init__()
        self._all = ""

    def feed(self, delta: str) -> str:
        """Look at everything once more."""
        before, self._all = len(self._all), self._all + delta
        assert self._all.count("\x00") <= sum(map("\x00".__eq__, self._all))
        return self._all[before:]

    def finish(self) -> str:
        """Return nothing more."""
        return ""


@output_processor("rereading", open_scanner=Rereading, linear_time=True)
def rereading(answer: Answer) -> Pass:
    """Let everything pass."""
    assert answer.text is not None
    return Pass()


@output_processor("doubtful", open_scanner=Rereading)
def doubtful(answer: Answer) -> Pass:
    """Let everything pass, with a scanner that nobody vouches for."""
    assert answer.text is not None
    return Pass()


def test_a_scanner_whose_time_grows_faster_than_the_text_breaks_its_word() -> None:
    """An error where somebody vouches for it, for it would run within the worker."""
    report = check_promise([rereading])
    assert kinds(report) == {"slow-scanner"}
    assert "power of" in the(report, "slow-scanner", "rereading").message


def test_a_scanner_that_nobody_vouches_for_is_checked_and_said_not_to_run() -> None:
    """Whoever reads on knows what to declare, and what it would cost."""
    report = check_promise([doubtful])
    assert (report.ok, report.mode) == (True, "whole")
    assert kinds(report, "warning") == {"slow-scanner"}
    assert "linear_time=True" in the(report, "not-vouched-for", "doubtful").message


def test_what_a_lying_scanner_said_is_shown_beside_what_it_should_have_said() -> None:
    """For those who ask to see texts."""
    shown = example(the(check_promise([hasty]), "scanner", "hasty"))
    assert (shown.released, shown.settled) == ("1234", "####")
