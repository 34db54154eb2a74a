"""Redaction: what stands in for findings, in a whole text, in a growing one and in tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from processors import Answer
from processors.patterns import Pattern, Span
from processors.patterns.following import CONTEXT
from processors.patterns.redactor import Redactor, Rule
from topics.content import ToolCall

EMAIL = Pattern(r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
DIGITS = Pattern(r"\d{4,}")


def redacted(text: str, *rules: Rule, **options: bool) -> str:
    """Return what a redactor makes of a text, after checking that a scan by characters makes the same of it."""
    redactor = Redactor("redact", rules, numbered=options.get("numbered", False), folds=options.get("folds", True))
    whole = redactor.process(Answer(text=text)).text
    scanner = redactor.open_scanner()
    assert "".join(map(scanner.feed, text)) + scanner.finish() == whole
    return whole


def test_placeholders_name_what_they_stand_for() -> None:
    """By the label of their rule."""
    assert redacted("to bob@acme.co: 12345", Rule("EMAIL", EMAIL), Rule("ID", DIGITS)) == "to [EMAIL]: [ID]"


def test_numbered_placeholders_are_the_same_for_the_same() -> None:
    """Case and disguise make no difference; each label counts for itself."""
    text = "a@b.co B@c.de A@B.co 1234 \uff41@b.co"
    assert redacted(text, Rule("EMAIL", EMAIL), Rule("ID", DIGITS), numbered=True) == (
        "[EMAIL_1] [EMAIL_2] [EMAIL_1] [ID_1] [EMAIL_1]"
    )


def test_each_answer_is_numbered_afresh() -> None:
    """A redactor keeps nothing of an answer."""
    redactor = Redactor("redact", [Rule("ID", DIGITS)], numbered=True)
    assert [redactor.process(Answer(text=text)).text for text in ("1234", "5678")] == ["[ID_1]", "[ID_1]"]


def test_a_rule_says_what_is_the_same() -> None:
    """Here the digits, however they are grouped."""
    rule = Rule("ID", Pattern(r"\d{2} ?\d{2}"), same=lambda found: re.sub(" ", "", found))
    assert redacted("12 34, 1234, 4321", rule, numbered=True) == "[ID_1], [ID_1], [ID_2]"


def test_a_rule_may_replace_a_part_and_name_it() -> None:
    """Whatever stands around the part stays, in the characters it was written in."""
    rule = Rule("KEY", Pattern(r"(?:key|tok)=\w+"), named=lambda found: found[:3].upper(), part=lambda _: (4, 6))
    assert redacted("a key=s3cret, \uff54ok=abc.", rule) == "a key=[KEY]cret, \uff54ok=[TOK]c."


def test_a_template_is_the_operators() -> None:
    """With the label in it, or without."""
    assert Redactor("r", [Rule("ID", DIGITS)], placeholder="<{label}>").process(Answer(text="1234!")).text == "<ID>!"
    assert Redactor("r", [Rule("ID", DIGITS)], placeholder="***").process(Answer(text="1234!")).text == "***!"


def test_evasions_are_seen_through_unless_told_otherwise() -> None:
    """In the text that is found; what stands beside it is left alone."""
    text = "e\u0301 b\u200bob\uff20\u0430cme.co \U0001f469\u200d\U0001f4bb"
    assert redacted(text, Rule("EMAIL", EMAIL)) == "e\u0301 [EMAIL] \U0001f469\u200d\U0001f4bb"
    assert redacted(text, Rule("EMAIL", EMAIL), folds=False) == text


@pytest.mark.parametrize("word", ["секрет", "秘密", "비밀", "が", "café", "नमस्ते"])
def test_words_of_any_script_are_found_as_they_are_written(word: str) -> None:
    """Reading through disguises must not hide what is none."""
    assert redacted(f"a {word} b", Rule("WORD", Pattern(word))) == "a [WORD] b"


def test_a_neighbour_that_cannot_be_seen_hides_none() -> None:
    """What is kept of settled text has the last character that counts."""
    rule = Rule("ID", Pattern(r"\b\d{4}"))
    for hidden in ("\u200b", "\u200b" * (3 * CONTEXT)):
        # As it is written, there is a boundary before the digits.
        assert redacted(f"x{hidden}1234 1234", rule) == f"x{hidden}[ID] [ID]"
    inside = Rule("ID", Pattern(r"(?<![\u200bx])\d{4}"))
    assert redacted("x\u200b1234 1234", inside) == "x\u200b1234 [ID]"


class Behind:
    """Finds fours that stand at most `CONTEXT` characters behind an x."""

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the protocol's
        """Yield them."""
        yield from (
            Span(*match.span())
            for match in re.compile("4").finditer(text, start)
            if "x" in text[max(match.start() - CONTEXT, 0) : match.start()]
        )

    def open_from(self, text: str, start: int = 0) -> int:  # noqa: ARG002 - the protocol's
        """Return the end: one character is all."""
        return len(text)


def test_a_finder_may_look_back_as_far_as_the_context_goes() -> None:
    """However the text was cut."""
    for distance, expected in ((CONTEXT, "[F]"), (CONTEXT + 1, "4")):
        assert redacted(f"x{'.' * (distance - 1)}4", Rule("F", Behind())) == f"x{'.' * (distance - 1)}{expected}"


def test_a_prefix_is_answered_with_what_is_certain() -> None:
    """So nothing more need be held back for it."""
    redactor = Redactor("redact", [Rule("EMAIL", EMAIL)])
    assert redactor.incremental.lookback_chars == 0
    answers = [redactor.process(Answer(text=text, complete=False)).text for text in ("to a@b.co", "to a@b.co ")]
    assert answers == ["to ", "to [EMAIL] "]


def test_what_was_replaced_is_counted() -> None:
    """For the report."""
    verdict = Redactor("redact", [Rule("ID", DIGITS)]).process(Answer(text="1234 5678"))
    assert verdict.changes == 2
    assert Redactor("redact", [Rule("ID", DIGITS)]).process(Answer(text="12")).changes == 0


def test_tool_calls_are_redacted_once_the_answer_is_complete() -> None:
    """With the numbers that the text has given."""
    call = ToolCall(id="1", name="send", arguments='{"to": "b\\u006fb@acme.co", "ids": [1234, "12"]}')
    redactor = Redactor("redact", [Rule("EMAIL", EMAIL), Rule("ID", DIGITS)], numbered=True)
    verdict = redactor.process(Answer(text="x@y.zz bob@acme.co", tool_calls=(call,)))
    assert verdict.text == "[EMAIL_1] [EMAIL_2]"
    assert [one.arguments for one in verdict.tool_calls or ()] == ['{"to": "[EMAIL_2]", "ids": ["[ID_1]", "12"]}']
    assert verdict.changes == 4


LONG = 200_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9" * LONG, "[ID]"),
        ("9" * LONG + " ", "[ID] "),
        ("x" * LONG, "x" * LONG),
        (f"{'x' * LONG}@acme.co", "[EMAIL]"),
        ("." * LONG, "." * LONG),
        ("x" + "\u200b" * LONG + "1234", "x" + "\u200b" * LONG + "[ID]"),
        ("e\u0301" * (LONG // 2), "e\u0301" * (LONG // 2)),
        ("1234 a@b.co " * (LONG // 12), "[ID] [EMAIL] " * (LONG // 12)),
    ],
    ids=["finding", "finding and more", "open", "open for long", "dots", "hidden", "marks", "many findings"],
)
def test_long_texts_cost_what_they_are_long(text: str, expected: str) -> None:
    """Work that grew with the square of it would keep this test from ending."""
    redactor = Redactor("redact", [Rule("EMAIL", EMAIL), Rule("ID", DIGITS)])
    scanner = redactor.open_scanner()
    out = "".join(scanner.feed(text[place : place + 4]) for place in range(0, len(text), 4)) + scanner.finish()
    assert out == expected
    assert redactor.process(Answer(text=text)).text == expected


def test_the_version_tells_configurations_apart() -> None:
    """Decision records name it: what two of them did may differ, or not."""
    rule = Rule("ID", DIGITS)
    versions = [
        Redactor("r", [rule]).version,
        Redactor("r", [Rule("NUMBER", DIGITS)]).version,
        Redactor("r", [Rule("ID", EMAIL)]).version,
        Redactor("r", [rule, Rule("EMAIL", EMAIL)]).version,
        Redactor("r", [Rule("ID", DIGITS, part=lambda _: (0, 1))]).version,
        Redactor("r", [rule], placeholder="***").version,
        Redactor("r", [rule], numbered=True).version,
        Redactor("r", [rule], folds=False).version,
    ]
    assert len(set(versions)) == len(versions)
    assert Redactor("other", [Rule("ID", Pattern(r"\d{4,}"))], timeout_s=1).version == versions[0]
    assert Redactor("r", [rule], version="7").version == "7"


def test_what_was_long_open_goes_out_before_the_answer_has_grown_much() -> None:
    """A scanner that holds much looks less often, but it looks."""
    scanner = Redactor("redact", [Rule("ID", DIGITS)]).open_scanner()
    assert "".join(scanner.feed("9999") for _ in range(1_000)) == ""
    assert "".join(scanner.feed(" abc") for _ in range(150)).startswith("[ID] abc")


class Runs:
    """A finder of somebody's own."""

    def spans(self, text: str, start: int = 0, *, ended: bool) -> Iterator[Span]:  # noqa: ARG002 - the protocol's
        """Find nothing."""
        yield from ()

    def open_from(self, text: str, start: int = 0) -> int:  # noqa: ARG002 - the protocol's
        """Hold back nothing."""
        return len(text)


class VouchedRuns(Runs):
    """One whose author vouches for it."""

    linear_time = True


class OwnRedactor(Redactor):
    """A redactor with code of somebody's own."""


def test_a_redactor_without_code_of_others_is_vouched_for() -> None:
    """What an operator adds to it may do anything, and run where nothing could stop it."""
    own = [
        Rule("ID", Pattern("a", check=lambda _: True)),
        Rule("ID", DIGITS, same=lambda found: found),
        Rule("ID", DIGITS, named=lambda _: "ID"),
        Rule("ID", DIGITS, part=lambda _: (0, 1)),
        Rule("ID", Runs()),
    ]
    assert not any(Redactor("r", [Rule("ID", EMAIL), rule]).linear_time for rule in own)
    assert not OwnRedactor("r", [Rule("ID", EMAIL)]).linear_time
    assert Redactor("r", [Rule("ID", EMAIL), Rule("ID", DIGITS, same=str), Rule("ID", VouchedRuns())]).linear_time
