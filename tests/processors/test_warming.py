"""What scanners are warmed up with: the same texts each time, with what they look for, and no harm if they break."""

from __future__ import annotations

import re
from random import Random

from processors.builtin import emails, jwts
from processors.patterns.examples import example
from processors.patterns.tree import parse
from processors.scanner import ScannerChain
from processors.warming import warming


class Recording:
    """A scanner that keeps what all of its kind read."""

    read: list[str]

    def feed(self, delta: str) -> str:
        """Keep it."""
        self.read.append(delta)
        return delta

    def finish(self) -> str:
        """Keep nothing."""
        return ""


def recording() -> type[Recording]:
    """Return a kind of scanner that nobody has fed."""
    return type("Fresh", (Recording,), {"read": []})


def test_texts_are_the_same_each_time() -> None:
    """Two workers with the same chains learn the same."""
    one, other = recording(), recording()
    read = [sum(1 for _ in warming(kind)) for kind in (one, other)]
    assert read[0] == read[1] > 1
    assert one.read == other.read
    assert len("".join(one.read)) > 1_000


def test_each_stage_of_a_chain_meets_what_it_looks_for() -> None:
    """Whoever is warmed up without a finding meets the first finding cold."""
    opened: list[ScannerChain] = []

    def opener() -> ScannerChain:
        opened.append(ScannerChain([emails().open_scanner, jwts().open_scanner]))
        return opened[-1]

    for _ in warming(opener):
        pass
    for number in range(2):
        assert sum(getattr(chain.stages[number], "changes", 0) for chain in opened) > 0


def test_a_scanner_that_breaks_is_left_alone() -> None:
    """Warming up decides nothing: whether a processor is broken is for an answer to show."""
    fed = []

    class Breaks(Recording):
        def feed(self, delta: str) -> str:
            fed.append(delta)
            raise ValueError

    assert list(warming(Breaks)) == []
    assert len(fed) == 1


def test_examples_match() -> None:
    """Of patterns without neighbours, an example is a match."""
    for pattern in (r"[\w.+-]+@[a-z]+\.com", "a{2,4}|b*c", "(?i)key-[0-9a-f]{3,}", "[^a]x?"):
        for seed in range(20):
            made = example(parse(pattern).body, Random(seed))
            assert re.fullmatch(pattern, made), (pattern, made)
