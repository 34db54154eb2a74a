"""What a scanning redactor lets out, however a text is cut: never anything that the whole text would not have given."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors import Answer
from processors.patterns import Pattern, Span
from processors.patterns.glance import Glance
from processors.patterns.redactor import Redactor, Rule
from processors.patterns.settle import Finder, settle
from processors.scanner import Scanner, ScannerChain
from processors.testing import run_gate
from tests.processors.patterns.written import examples, patterns
from tests.properties.drive import random_splits, splits

EMAIL = Pattern(r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
BOUNDED_EMAIL = Pattern(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b")
SSN = Pattern(r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)")
NUMBER = Pattern(r"\d{8,17}")
EVEN = Pattern(r"\d(?:[ -]?\d){5,9}", check=lambda text: sum(map(int, re.sub(r"\D", "", text))) % 2 == 0)
KEY = Pattern(r"\bfk-live-[A-Za-z0-9-]{4,}")
LINE = Pattern(r"^secret: .+$", re.MULTILINE | re.IGNORECASE)
WORD = Pattern(r"(?<!\w)(?:секрет|秘密|geheim)(?!\w)", re.IGNORECASE)
SCRIPT = Pattern("秘密")


class Sevens:
    """A finder of another make: runs of three sevens."""

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the protocol's
        """Yield the runs."""
        yield from (Span(*match.span()) for match in re.compile("777").finditer(text, start))

    def open_from(self, text: str, start: int = 0) -> int:
        """Return where one or two sevens stand at the end, of which no three are a run."""
        whole = [span.end for span in self.spans(text, start, ended=False)]
        match = re.compile(r"7{0,2}\Z").search(text, max([start, *whole]))
        return match.start() if match else len(text)


FINDERS: dict[str, Finder] = {
    "EMAIL": EMAIL,
    "BOUNDED": BOUNDED_EMAIL,
    "SSN": SSN,
    "NUMBER": NUMBER,
    "EVEN": EVEN,
    "KEY": KEY,
    "LINE": LINE,
    "WORD": WORD,
    "SCRIPT": SCRIPT,
    "SEVENS": Sevens(),
}
PIECES = [
    *["bob@acme.co", "m.uk", " and ", "000-12-", "34567 ", "fk-li", "ve-abcde12345x", "yz ", "12345678", "90123 "],
    *[". ", "-", "secret: ", "\n", "777", "7", "1", "@", "\r\n", "\x00", "秘", "密", "секр", "ет", "geheim"],
    *["\u200b", "\uff20", "é", "e\u0301", "\u200d", "\ufb01", "\u338f", "\u0430", "\uff10\uff10"],
    *["\U0001f469\u200d\U0001f4bb", "\U0001f1e9\U0001f1ea"],
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
RULES = st.lists(st.sampled_from(sorted(FINDERS)), min_size=1, max_size=4, unique=True)


def redactor(names: Sequence[str], *, folds: bool = True, numbered: bool = True) -> Redactor:
    """Return a redactor by rules of these names."""
    return Redactor("redact", [Rule(name, FINDERS[name]) for name in names], folds=folds, numbered=numbered)


def whole(redact: Redactor, text: str) -> str:
    """Return what the redactor makes of a whole text."""
    return redact.process(Answer(text=text)).text


def check_scan(scanner: Scanner, pieces: Sequence[str], settled: str) -> None:
    """Feed pieces; check that all that came out at any time is of the settled text, and in the end all of it."""
    out = ""
    for piece in pieces:
        out += scanner.feed(piece)
        assert settled.startswith(out)
    assert out + scanner.finish() == settled


@examples(1_500)
@given(RULES, TEXTS, st.booleans(), st.integers(0, 2**16))
@example(["KEY", "EVEN"], "1-234-567fk-live-abcd ", False, 0)
@example(["SSN"], "7\u200b000-12-3456 ", True, 1)
def test_a_scan_gives_what_the_whole_text_gives(names: list[str], text: str, folds: bool, seed: int) -> None:
    """Characters one by one, and pieces of any size."""
    redact = redactor(names, folds=folds)
    settled = whole(redact, text)
    for pieces in (list(text), *random_splits(text, 2, seed)):
        check_scan(redact.open_scanner(), pieces, settled)


@examples(400)
@given(st.lists(patterns(), min_size=1, max_size=3), st.data())
def test_a_scan_by_any_patterns_gives_what_the_whole_text_gives(written: list[str], data: st.DataObject) -> None:
    """Patterns that nobody thought of, some of them with checks."""
    checks = data.draw(st.lists(st.sampled_from([None, lambda text: len(text) % 2 == 0]), min_size=3, max_size=3))
    rules = [
        Rule(f"R{i}", Pattern(one, check=check)) for i, (one, check) in enumerate(zip(written, checks, strict=False))
    ]
    redact = Redactor("redact", rules, folds=data.draw(st.booleans()))
    text = data.draw(st.text(st.sampled_from("ab1- \n_éе\u200b"), max_size=14))
    settled = whole(redact, text)
    for pieces in splits(text, 1, data.draw(st.integers(0, 99))):
        check_scan(redact.open_scanner(), pieces, settled)


@examples(500)
@given(RULES, TEXTS, st.data())
def test_settling_goes_on_from_any_place_that_was_settled(names: list[str], text: str, data: st.DataObject) -> None:
    """What is found behind such a place is the same as if all had been looked at together."""
    finders = [FINDERS[name] for name in names]
    together = settle(finders, text, 0, ended=True).findings
    upto = data.draw(st.integers(0, len(text)))
    findings, end = settle(finders, text[:upto], 0, ended=False)
    assert findings == [one for one in together if one.end <= end]
    assert all(one.end <= end or one.start >= end for one in together)
    assert settle(finders, text, end, ended=True).findings == [one for one in together if one.start >= end]


@examples(500)
@given(RULES, TEXTS, st.booleans(), st.data())
def test_a_glance_sees_what_looking_for_each_would(
    names: list[str], text: str, ended: bool, data: st.DataObject
) -> None:
    """Up to where it says that a text is settled, and that nothing is found."""
    finders = [FINDERS[name] for name in names]
    start = data.draw(st.integers(0, len(text)))
    seen = Glance(finders).settled_to(text, start, ended=ended)
    if seen is not None:
        assert settle(finders, text, start, ended=ended) == ([], seen)


@examples(200)
@given(st.permutations(["EMAIL", "SSN", "SCRIPT", "KEY"]), TEXTS, st.integers(0, 2**16))
def test_stages_of_a_chain_read_each_other(names: list[str], text: str, seed: int) -> None:
    """Each redactor of a chain sees what the one before it made."""
    chain = [redactor([name]) for name in names]
    settled = text
    for member in chain:
        settled = whole(member, settled)
    for pieces in (list(text), *random_splits(text, 2, seed)):
        check_scan(ScannerChain([member.open_scanner for member in chain]), pieces, settled)


#: Emoji, marks, letters of many scripts, and forms that a detector reads as others.
UNTOUCHED = [
    *["\U0001f469\u200d\U0001f4bb", "\U0001f3f4\U000e0067\U000e007f", "\u2764\ufe0f", "e\u0301", "\ufb01", "\uff21"],
    *["नमस्ते", "مَرْحَبًا", "한국어", "が", "כֶּ", "สวัสดี", "\u200e", " ", "a"],
]


@examples(300)
@given(st.lists(st.sampled_from(UNTOUCHED)))
def test_where_nothing_is_found_a_text_stays_as_it_is(pieces: list[str]) -> None:
    """Folding is for detectors: emoji, marks and scripts come out untouched."""
    text = "".join(pieces)
    redact = redactor(["EMAIL", "SSN", "WORD", "SEVENS"])
    assert whole(redact, text) == text
    check_scan(redact.open_scanner(), list(text), text)


PROSE = (
    "Write to bob@acme.example.co, or -anna@b.de; 000-12-3456 and 12345678, fk-live-abcd-1234! "
    "\U0001f469\u200d\U0001f4bb b\u200bob\uff20acme.co\r\nsecret: x\r\n\U0001f1e9\U0001f1ea 秘密."
)


@pytest.mark.parametrize("names", [["EMAIL", "SSN", "NUMBER"], ["BOUNDED", "KEY", "LINE", "SCRIPT"]], ids=" ".join)
def test_no_two_way_split_leaks_through_the_gate(names: list[str]) -> None:
    """Every place to cut, through the same machine that a worker runs."""
    redact = redactor(names)
    settled = whole(redact, PROSE)
    for pieces in splits(PROSE, 10, 1):
        result = run_gate([redact], pieces)
        assert (result.outcome, result.text) == ("completed", settled)
        assert settled.startswith("".join(result.releases[:-1]))


def test_a_gated_scan_lets_text_flow() -> None:
    """Most of it is out before the answer ends."""
    result = run_gate([redactor(["EMAIL", "SSN", "NUMBER"])], list(PROSE))
    assert len(result.releases) > 20


@pytest.mark.parametrize("seed", range(5))
def test_long_texts_of_many_findings_are_read_alike(seed: int) -> None:
    """Beyond the length from which a scanner looks less often."""
    chance = random.Random(seed)
    text = "".join(chance.choices([*PIECES, "x" * 3_000, "9" * 2_500], k=300))
    redact = redactor(["EMAIL", "SSN", "NUMBER", "KEY"])
    settled = whole(redact, text)
    for pieces in random_splits(text, 3, seed):
        check_scan(redact.open_scanner(), pieces, settled)
