"""`footer` and `reply_cap`: the last things that happen to a reply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from processors import DeclarationError, Deps, Reply
from processors.builtin import footer, reply_cap, whatsapp
from processors.builtin.reply_cap import cut
from topics.graphemes import safe_length

PIECES = st.sampled_from([*"ab. \n!`\u3002", "```", "\n```", "\u0301", "\u200d", "\U0001f469", "\U0001f1e9"])
TEXTS = st.lists(PIECES, max_size=60).map("".join)


def under(said: str, channel: str = "web", **options: Any) -> str:
    """Return what `footer` makes of a reply."""
    given: dict[str, Any] = {"text": {"web": "Bye.", "whatsapp": "_Bye._"}} | options
    return footer(**given).process(Reply(said, channel=channel)).text


def capped(text: str, limit: int, ellipsis: str = " \u2026") -> str:
    """Return what `reply_cap` makes of a reply."""
    return reply_cap(limit, ellipsis=ellipsis).process(Reply(text)).text


def test_a_footer_stands_under_a_blank_line() -> None:
    """Each channel has its own, some none."""
    assert under("Hello.\n") == "Hello.\n\nBye."
    assert under("Hello.", "whatsapp") == "Hello.\n\n_Bye._"
    assert under("Hello.", "sms") == "Hello."
    assert under("Hello.", "sms", default="B.") == "Hello.\n\nB."
    assert under("Hello.", "sms", text="Bye.", separator=" ") == "Hello. Bye."


def test_nothing_is_put_under_nothing_nor_twice() -> None:
    """A reply without text says nothing; a model may have read earlier replies, and end its own like them."""
    assert under(" ") == " "
    assert under("Hello.\n\nBye.\n") == "Hello.\n\nBye.\n"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("One. Two. Three.", 16, "One. Two. Three."),
        ("One is here. Two is here. Three.", 31, "One is here. Two is here. \u2026"),
        ('He said "No!" And then he left us all', 30, 'He said "No!" And then he \u2026'),
        ("A long sentence without any end to it", 30, "A long sentence without any \u2026"),
        ("Version 3.5.1 is out, says example.com", 24, "Version 3.5.1 is out, \u2026"),
        ("Ab. " + "c" * 40, 20, "Ab. cccccccccccccc \u2026"),
        ("a\u3002bcd\u3002efghijk\u3002", 10, "a\u3002bcd\u3002 \u2026"),
        ("A head\n\n- one thing\n- another", 20, "A head\n\n- one \u2026"),
    ],
)
def test_a_reply_is_cut_where_it_reads_best(text: str, limit: int, expected: str) -> None:
    """After a sentence that is not too short, else between words, else anywhere."""
    assert capped(text, limit) == expected


def test_a_code_block_that_is_cut_is_closed() -> None:
    """Or all that follows, such as a footer, would be code."""
    text = "Look:\n```\n" + "line of code\n" * 10 + "```\nThat is all."
    out = capped(text, 60)
    assert out.endswith("\nline \u2026\n```")
    assert len(out) <= 60


@given(TEXTS, st.integers(8, 40), st.sampled_from(["", "\u2026", " \u2026"]))
@example("aaaaaaaaaaaa\n\u3002\u0301a and more", 14, "")
def test_the_limit_holds_and_no_character_is_cut_in_two(text: str, limit: int, ellipsis: str) -> None:
    """And nothing but the end is lost."""
    out = cut(text, limit, ellipsis)
    assert len(out) <= limit
    if len(text) <= limit:
        assert out == text
        return
    # One that ends in a fence had that put there, or ends where the text itself has one.
    ends = [ending for ending in (ellipsis, f"{ellipsis}\n```") if out.endswith(ending)]
    kept = [out.removesuffix(ending) for ending in ends if text.startswith(out.removesuffix(ending))]
    assert kept
    assert any(text[len(one)].isspace() or safe_length(text, len(one)) == len(one) for one in kept)


def test_limits_are_by_channel() -> None:
    """With one for the others, or none."""
    processor = reply_cap({"sms": 20}, default=30)
    text = "word " * 20
    assert processor.process(Reply(text, channel="sms")).text == "word word word \u2026"
    assert processor.process(Reply(text, channel="web")).text == "word word word word word \u2026"
    assert reply_cap({"sms": 20}).process(Reply(text, channel="web")).text == text


def test_the_operators_own_come_first_then_form_limit_and_footer() -> None:
    """In the order that each needs of the others."""
    deps = Deps(post_processors=[footer("Bye."), reply_cap(100), whatsapp()])
    assert [one.name for one in deps.post_processors] == ["whatsapp", "reply-cap", "footer"]
    assert all(one.priority > 100 for one in deps.post_processors)


@pytest.mark.parametrize(
    "made",
    [
        lambda: footer(""),
        lambda: footer({}),
        lambda: footer({"web": " "}),
        lambda: footer("Bye.", default="B."),
        lambda: reply_cap(5),
        lambda: reply_cap({}),
        lambda: reply_cap({"sms": 0}),
        lambda: reply_cap(100, default=100),
        lambda: whatsapp([]),
        lambda: whatsapp("whatsapp"),
    ],
)
def test_what_cannot_be_is_refused(made: Any) -> None:
    """When it is declared."""
    with pytest.raises(DeclarationError):
        made()
