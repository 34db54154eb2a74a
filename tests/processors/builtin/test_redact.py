"""Several built-ins as one processor."""

from __future__ import annotations

import builtins
import json
import sys
from typing import Any

import pytest

from processors import Answer, ToolCall
from processors.builtin import api_keys, cards, emails, ibans, jwts, national_ids, patterns, phones, redact, words
from processors.errors import DeclarationError
from processors.patterns import Pattern
from processors.patterns.redactor import Rule
from processors.testing import run_gate
from tests.processors.builtin.texts import settled

EVERYTHING = redact([emails(), cards(), phones(), ibans(), national_ids()], name="pii", numbered=True)


def test_each_kind_has_its_own_numbers_and_equal_findings_equal_ones() -> None:
    """Whatever order they come in, and however they are written."""
    text = "a@x.example, b@x.example and A@x.example; 4111 1111 1111 1111, 4111111111111111"
    assert settled(EVERYTHING, text) == "[EMAIL_1], [EMAIL_2] and [EMAIL_1]; [CARD_1], [CARD_1]"


def test_numbers_do_not_depend_on_how_the_answer_arrives() -> None:
    """Nor on the answers before it."""
    pieces = ["a@x.example, b@x.exam", "ple and a@x.example again,", " all confirmed."]
    for _ in range(2):
        run = run_gate([EVERYTHING], pieces)
        assert run.text == "".join(run.releases) == "[EMAIL_1], [EMAIL_2] and [EMAIL_1] again, all confirmed."
        assert len(run.releases) > 1


def test_the_longest_of_overlapping_findings_is_replaced() -> None:
    """A card hides the telephone number within it, an address the word within it."""
    processor = redact([words(["acme"]), emails(), patterns({"TEN": r"\d{10}"}), cards()])
    assert settled(processor, "acme: ann@acme.example, 4111111111111111") == "[WORD]: [EMAIL], [CARD]"


def test_of_equally_long_findings_that_of_the_kind_named_first_is_replaced() -> None:
    """Declaration is priority."""
    one, other = patterns({"ONE": "abc"}), patterns({"OTHER": "[a-c]+"})
    assert settled(redact([one, other]), "abc") == "[ONE]"
    assert settled(redact([other, one]), "abc") == "[OTHER]"


def test_rules_of_one_s_own_go_with_them() -> None:
    """Beside built-ins."""
    assert (
        settled(redact([Rule("X", Pattern("x+")), emails()], placeholder="<{label}>"), "xx a@b.example")
        == "<X> <EMAIL>"
    )


def test_secrets_in_tool_calls_are_replaced_too() -> None:
    """In strings, keys and numbers of the arguments, whatever JSON escapes hide; numbers go on from those of the text."""
    arguments = r'{"to": "b\u0040x.example", "card": 4111111111111111, "n": [1, true, null, {"a@x.example": "c"}]}'
    answer = Answer("Mail a@x.example", tool_calls=(ToolCall(id="1", name="send", arguments=arguments),))
    verdict = EVERYTHING.process(answer)
    assert verdict.text == "Mail [EMAIL_1]"
    assert verdict.tool_calls is not None
    assert json.loads(verdict.tool_calls[0].arguments) == {
        "to": "[EMAIL_2]",
        "card": "[CARD_1]",
        "n": [1, True, None, {"[EMAIL_1]": "c"}],
    }
    assert verdict.changes == 4


@pytest.mark.parametrize(
    ("module", "build"),
    [("phonenumbers", phones), ("stdnum.iban", ibans), ("stdnum.us.ssn", national_ids)],
)
def test_a_missing_library_is_said_to_be_in_the_extra(module: str, build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the processor is made, not when it runs."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DeclarationError, match=r"install turngate\[builtin\]"):
        build()


def test_what_needs_no_library_is_made_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others import nothing beyond the core."""
    real = builtins.__import__

    def guarded(name: str, *args: Any, **kwargs: Any) -> Any:
        assert not name.startswith(("phonenumbers", "stdnum"))
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    for build in (emails, cards, jwts, api_keys):
        assert build().rules
