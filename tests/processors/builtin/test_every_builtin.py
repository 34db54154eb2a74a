"""What all built-in redactors are held to: no split leaks, plain text is left alone and flows, and the cost is linear."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from processors import Deps
from processors.builtin import redact
from processors.patterns import Span
from processors.patterns.redactor import Redactor, Rule
from processors.patterns.settle import Finder
from tests.processors.builtin.texts import BUILTINS, PLAIN, assert_no_split_leaks, fed, settled

NAMES = list(BUILTINS)
#: The most that may be held of a text in which nothing is found: the longest run of characters without a space.
_LONGEST_RUN = max(len(run) for run in PLAIN.split())


@pytest.mark.parametrize("name", NAMES)
def test_each_finds_something_in_its_text(name: str) -> None:
    """Else the tests below could not fail."""
    processor, text = BUILTINS[name]
    assert settled(processor, text) != text


@pytest.mark.parametrize("name", NAMES)
def test_each_is_vouched_for(name: str) -> None:
    """So that a chain of them is scanned within the worker."""
    assert Deps(output_processors=[BUILTINS[name][0]]).manifest.release_mode == "scan"


@pytest.mark.parametrize("name", NAMES)
def test_no_split_leaks(name: str) -> None:
    """In two at every place, per character, and at random."""
    processor, text = BUILTINS[name]
    assert_no_split_leaks(processor, text, settled(processor, text))


def test_no_split_leaks_from_all_together() -> None:
    """Findings of different kinds overlap and stand side by side."""
    processor = redact(processor for processor, _ in BUILTINS.values())
    for _, text in BUILTINS.values():
        cut = f"{text[30:]} {text[:60]}"
        assert_no_split_leaks(processor, cut, settled(processor, cut), two_way_step=7)


@pytest.mark.parametrize("name", NAMES)
def test_plain_text_is_left_as_it_is(name: str) -> None:
    """Prose, code, tables, dates, versions, amounts, identifiers."""
    assert settled(BUILTINS[name][0], PLAIN) == PLAIN


@pytest.mark.parametrize("name", NAMES)
def test_plain_text_flows(name: str) -> None:
    """At each character no more is held than the word it belongs to, and mostly less."""
    held = [read - said for read, said in fed(BUILTINS[name][0], list(PLAIN))]
    assert max(held) <= _LONGEST_RUN
    assert sum(held) / len(held) <= 6


def test_plain_text_flows_through_all_together() -> None:
    """Kinds that hold different things do not hold more together than the one that holds most."""
    held = [read - said for read, said in fed(redact(p for p, _ in BUILTINS.values()), list(PLAIN))]
    assert max(held) <= _LONGEST_RUN
    assert sum(held) / len(held) <= 10


class Counting:
    """A finder that counts the characters it is shown."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self.shown = 0

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:
        """Find."""
        self.shown += len(text)
        return self._finder.spans(text, start, ended=ended)

    def open_from(self, text: str, start: int = 0) -> int:
        """Look at the end."""
        self.shown += len(text)
        return self._finder.open_from(text, start)


def shown(processor: Redactor, text: str) -> int:
    """Return how many characters the finders of `processor` are shown of `text` in frames of four."""
    counting = [Counting(rule.finder) for rule in processor.rules]
    same = redact([Rule(rule.label, finder) for rule, finder in zip(processor.rules, counting, strict=True)])
    scanner = same.open_scanner()
    for place in range(0, len(text), 4):
        scanner.feed(text[place : place + 4])
    scanner.finish()
    return sum(finder.shown for finder in counting)


RUNS = {
    "prose": PLAIN,
    "one word": "a",
    "digits": "1234567890",
    "digit by digit": "4 ",
    "grouped digits": "4111 ",
    "half an address": "a@b.",
    "dashes": "-",
    "base64": "eyJhbGciOiJ",
    "a key without an end": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "a block without an end": "-----BEGIN A KEY-----\n",
    "a url without an end": "https://ann:pw@",
    "parentheses": "((",
    "assignments": "password=",
    "found over and over": "a@b.co 4111111111111111 ",
}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.replace(" ", "-"))
@pytest.mark.parametrize("name", NAMES)
def test_ten_times_the_text_is_ten_times_the_work(name: str, run: str) -> None:
    """Counted in characters shown to finders, on texts made to be held."""
    processor, _ = BUILTINS[name]
    few, many = (shown(processor, (RUNS[run] * length)[:length]) for length in (4_000, 40_000))
    assert many <= 16 * few
