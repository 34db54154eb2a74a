"""Scanners in a row."""

from __future__ import annotations

from processors.scanner import ScannerChain


class Upper:
    """Changes every character, and is certain at once."""

    def feed(self, delta: str) -> str:
        """Return it changed."""
        return delta.upper()

    def finish(self) -> str:
        """Return nothing: nothing is held."""
        return ""


class Words:
    """Is certain of whole words, and counts how often it was asked."""

    def __init__(self, mark: str = "") -> None:
        self.mark = mark
        self.asked = 0
        self.held = ""

    def feed(self, delta: str) -> str:
        """Return the words that are complete."""
        self.asked += 1
        *words, self.held = (self.held + delta).split(" ")
        return "".join(f"{self.mark}{word} " for word in words)

    def finish(self) -> str:
        """Return the last word."""
        return self.mark + self.held


def test_no_scanner_at_all_is_certain_of_everything() -> None:
    """A chain of none changes nothing."""
    chain = ScannerChain([])
    assert (chain.feed("a b"), chain.finish()) == ("a b", "")


def test_each_scanner_reads_what_the_one_before_is_certain_of() -> None:
    """In their order."""
    chain = ScannerChain([Upper, lambda: Words("<"), lambda: Words(">")])
    assert [chain.feed(text) for text in ("one t", "wo", " three")] == ["><ONE ", "", "><TWO "]
    assert chain.finish() == "><THREE"


def test_what_one_scanner_holds_to_the_end_still_goes_through_those_behind_it() -> None:
    """And comes before what they themselves hold."""
    chain = ScannerChain([lambda: Words("a"), Upper, lambda: Words("b")])
    assert chain.feed("x y z") == "bAX bAY "
    assert chain.finish() == "bAZ"


def test_nothing_is_not_passed_on() -> None:
    """A scanner is only asked when there is something new."""
    last = Words()
    chain = ScannerChain([Words, lambda: last])
    chain.feed("held")
    assert last.asked == 0
    chain.feed(" ")
    assert last.asked == 1


def test_every_chain_opens_scanners_of_its_own() -> None:
    """Two answers do not mix."""
    openers = [lambda: Words()]  # noqa: PLW0108 - an opener is any callable
    first, second = ScannerChain(openers), ScannerChain(openers)
    assert (first.feed("a"), second.feed("b "), first.finish()) == ("", "b ", "a")
