"""E-mail addresses."""

from __future__ import annotations

import pytest

from processors.builtin import emails
from tests.processors.builtin.texts import fed, settled

PROCESSOR = emails()

ADDRESSES = [
    "ann@mail.example",
    "ann.lee+shop@mail.example.co.uk",
    "o'brien@mail.example",
    "a_b-c%d@mail.example",
    '"john.doe"@mail.example',
    r'"a\"b@c"@mail.example',
    "bounce+ann=mail.example@lists.example",
    "prvs=1234abcd=ann@mail.example",
    "ann@[192.168.0.1]",
    "ann@[IPv6:2001:db8::1]",
    "ann@xn--bcher-kva.example",
    "ann@mail.xn--p1ai",
    "søren@mail.example",
    "иван@почта.рф",
    "用户@例子.公司",
    "ann%40mail.example",
    "ANN@MAIL.EXAMPLE",
    "a@b.co",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_replaced_whole(address: str) -> None:
    """In all the forms that are in use."""
    assert settled(PROCESSOR, f"Write to <{address}>, please.") == "Write to <[EMAIL]>, please."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a@b.example.", "[EMAIL]."),
        ("a@b.example, c@d.example", "[EMAIL], [EMAIL]"),
        ("**a@b.example**", "**[EMAIL]**"),
        ("mailto:a@b.example?subject=x", "mailto:[EMAIL]?subject=x"),
        ("email=a@b.example&x=1", "email=[EMAIL]&x=1"),
        ('{"to":"a@b.example"}', '{"to":"[EMAIL]"}'),
        ("邮箱是a@b.example是的", "邮箱是[EMAIL]是的"),
        ("a@b.example\n-- \nc", "[EMAIL]\n-- \nc"),
    ],
)
def test_what_stands_beside_an_address_stays(text: str, expected: str) -> None:
    """Punctuation, markup, names of fields, text without spaces."""
    assert settled(PROCESSOR, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "@app.route('/')",
        "user@host:~$ ls",
        "x @ w.T",
        "npm i react@18.2.0",
        "git@host.example:a/b",
        "a@b.c",
        "a@@b.example",
    ],
)
def test_what_is_no_address_stays(text: str) -> None:
    """Decorators, prompts, operators, versions, repositories."""
    assert settled(PROCESSOR, text) == text


def test_a_complete_address_may_still_grow() -> None:
    """`a@b.co` is held until it is clear that no `.uk` follows."""
    held = [read - said for read, said in fed(PROCESSOR, ["See a@b.co", ".uk", " and"])]
    assert held[:2] == [6, 9]
    assert settled(PROCESSOR, "See a@b.co.uk and") == "See [EMAIL] and"
