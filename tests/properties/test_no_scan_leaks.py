"""The same promise where an answer is read once: by the scanners that ship, and by any that do what they say."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from processors import Answer
from processors.outcomes import Approved
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from processors.scanner import ScannerChain
from streams.gate.policy import Policy
from streams.gate.scan import AnswerScan
from tests.properties.drive import disturbed, drive, one_by_one, splits
from tests.properties.keepers import KEEPERS, TEXTS, Keeper, chained
from tests.properties.test_no_split_leaks import PLAIN
from tests.streams.gate.play import Judge

SCAN = Policy(mode="scan")

REDACTORS = {
    "emails": [Redactor("emails", [Rule("EMAIL", Pattern(r"[a-z]{1,64}@[a-z.]{1,64}\.[a-z]{2,8}"))])],
    "numbers": [
        Redactor("numbers", [Rule("SSN", Pattern(r"\b\d{3}-\d{2}-\d{4}\b")), Rule("PHONE", Pattern(r"\d{8,}"))])
    ],
    "numbered": [Redactor("vowels", [Rule("V", Pattern("[aeiou]+"))], numbered=True)],
    "in a row": [
        Redactor("digits", [Rule("D", Pattern(r"\d+"))], placeholder="{label}0"),
        Redactor("letters", [Rule("L", Pattern("D0|[a-c]+"))], folds=False),
    ],
}


def judge(redactors: list[Redactor]) -> Judge:
    """Return what a chain of redactors makes of a text."""

    def judged(text: str, complete: bool) -> Approved:
        for redactor in redactors:
            text = redactor.process(Answer(text, complete=complete)).text
        return Approved(text)

    return judged


@pytest.mark.parametrize("disorder", [False, True], ids=["in order", "in disorder"])
@pytest.mark.parametrize("redactors", REDACTORS.values(), ids=REDACTORS.keys())
def test_no_split_of_a_scanned_text_leaks(redactors: list[Redactor], disorder: bool) -> None:
    """All two-way splits, per character, and 200 random ones; and text flows."""
    chain = judge(redactors)
    settled = chain(PLAIN, True)
    assert isinstance(settled, Approved)
    assert settled.text != PLAIN
    flowed = False
    for number, pieces in enumerate(splits(PLAIN, 200, seed=7)):
        batches = disturbed(pieces, seed=number) if disorder else one_by_one(pieces)
        scan = AnswerScan(lambda: ScannerChain([redactor.open_scanner for redactor in redactors]))
        driven = drive(batches, chain, SCAN, scan)
        assert driven.outcome == "completed"
        assert driven.released == settled.text
        assert all(settled.text.startswith(out) for out in driven.outs)
        flowed = flowed or any(driven.outs[:-1])
    assert flowed


@dataclass
class Held:
    """A keeper as a scanner: certain of all but its window."""

    keeper: Keeper
    window: int
    read: str = ""
    said: int = 0

    def feed(self, delta: str) -> str:
        """Take in more."""
        self.read += delta
        made = self.keeper.change(self.read)
        certain = max(len(made) - self.window, self.said)
        new, self.said = made[self.said : certain], certain
        return new


@settings(max_examples=200)
@given(st.lists(KEEPERS, min_size=1, max_size=3), TEXTS, st.integers(0, 2**16))
def test_random_scanners_that_keep_their_promise_leak_nothing(keepers: list[Keeper], text: str, seed: int) -> None:
    """However the text is cut, repeated and reordered."""
    keeper, window = chained(keepers)
    settled = keeper.change(text)
    for number, pieces in enumerate(splits(text, 10, seed)):
        for batches in (one_by_one(pieces), disturbed(pieces, seed + number)):
            driven = drive(batches, keeper.judge, SCAN, AnswerScan(lambda: Held(keeper, window)))
            assert (driven.outcome, driven.released) == ("completed", settled)
            assert all(settled.startswith(out) for out in driven.outs)
