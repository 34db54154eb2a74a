"""Texts in which nothing is to be found, and what built-in processors are held to on any text."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from processors import Answer
from processors.builtin import (
    api_keys,
    cards,
    credential_urls,
    emails,
    ibans,
    jwts,
    national_ids,
    patterns,
    pem_blocks,
    phones,
    profanity,
    words,
)
from processors.patterns.redactor import Redactor
from processors.testing import run_gate

#: Each built-in that redacts, by name, and a text with something for it to find.
BUILTINS: dict[str, tuple[Redactor, str]] = {
    "emails": (emails(), 'Ask ann.lee+x@mail.example.co.uk, or "o.d"@b.example: they know. Not bob@home.'),
    "phones": (phones(), "Ring (415) 555-2671 or +49 30 1234567 by 14.10.2024, room 12 020 7946 0958."),
    "cards": (cards(), "Paid 12 4111 1111 1111 1111 and 3782-822463-10005, not 4111 1111 1111 1112."),
    "ibans": (ibans(), "To GB82 WEST 1234 5698 7654 32 is fine, is it, or DE89370400440532013000."),
    "national_ids": (national_ids(), "SSN 219-09-9998, NINO AB 12 34 56 C, CPF 390.533.447-05 and BSN 111222333."),
    "api_keys": (api_keys(assigned=True), f"export X=sk-{'a1B2' * 9} and token: {'q7Zr' * 5}; ghp_{'c3D4' * 9}."),
    "jwts": (jwts(), "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMiJ9.c2ln, then eyJustText.no"),
    "pem_blocks": (
        pem_blocks(),
        "A -----BEGIN EC PRIVATE KEY-----\nMHcC\n-----END EC PRIVATE KEY-----; -----BEGIN X-----",
    ),
    "credential_urls": (credential_urls(), "See https://ann:pw@x@db.example/a?b=c@d and ssh://git@host.example/r."),
    "words": (
        words(["acme", "big secret", "北京"]),
        "The ACME man in acmes has a big\n secret in 北京市, a big secretary.",
    ),
    "profanity": (profanity(), "Oh shit, the shits from Scunthorpe; a son of a bitch."),
    "patterns": (patterns({"TICKET": r"\bTCK-\d{4,6}\b"}), "See TCK-1234, TCK-123456, xTCK-1234, TCK-1234567."),
}

PLAIN = (
    "The committee met on 14 March 2024 (see page 12) and agreed that 3 of the 12 proposals, worth $1,250.50 in all, should "
    "go ahead. \"It's a start,\" said Ms. O'Brien - who has 1,234,567 followers @obrien - at 10:30:15\n"
    "on 2024-03-14T10:30:15Z.\n"
    "Order 100-2345 and order no. 1234567890 ship on 20.12.2024 14:30; invoice 2024/03/00017, ISBN 978-3-16-148410-0.\n"
    "Python 3.11.4, react@18.2.0, 192.168.100.200:8080, fe80::1ff:fe23:4567:890a,\n"
    "pi 3.141592653589793, 0.30000000000000004.\n"
    "def total(items: list[int]) -> float:  # costs = {'a': 1}\n    return sum(i * 1.19 for i in items) @ w.T\n"
    "id 550e8400-e29b-41d4-a716-446655440000, commit 9f04f0b3c1d2e4a5b6c7d8e9f0a1b2c3d4e5f607, epoch 1700000000000.\n"
    "| a | b |\n|-----|-----|\n| 100 200 300 | 10 000 000 |\nhttps://example.com/docs?page=2#top, git clone ssh://git@example.com/a.git\n"
    "sk-circle-fade, task-force, xoxo, AKIN, monkeyJumping.function1, token: none, password = your_password_here\n"
    "Die Prüfung am 3. Mai dauert 90 Minuten; 我们在2024年见面。 Ça va très bien, merci. Всё хорошо.\n"
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; 2019 2020 2021 2022 2023; 2021-2022, 1999/2000.\n"
)


def settled(processor: Redactor, text: str) -> str:
    """Return what `processor` makes of a whole text."""
    return processor.process(Answer(text)).text


def fed(processor: Redactor, pieces: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Scan `pieces`; yield after each how many characters went in, and how many of the outcome came out."""
    scanner = processor.open_scanner()
    read = said = 0
    for piece in pieces:
        read += len(piece)
        said += len(scanner.feed(piece))
        yield read, said


def splits(text: str, *, two_way_step: int = 1, drawn: int = 50) -> Iterator[list[str]]:
    """Yield splits of `text`: in two at every place, per character, and some drawn with seeds."""
    for place in range(0, len(text) + 1, two_way_step):
        yield [text[:place], text[place:]]
    yield list(text)
    for seed in range(drawn):
        chosen = random.Random(seed)
        places = sorted(chosen.sample(range(1, len(text)), chosen.randrange(1, max(2, len(text) // 3))))
        yield [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def assert_no_split_leaks(processor: Redactor, text: str, expected: str, *, two_way_step: int = 1) -> None:
    """Assert that each split of `text` is released as parts of `expected`, in order and complete."""
    for pieces in splits(text, two_way_step=two_way_step):
        run = run_gate([processor], pieces)
        assert (run.outcome, run.text) == ("completed", expected)
        released = ""
        for release in run.releases:
            released += release
            assert expected.startswith(released)
        assert released == expected
