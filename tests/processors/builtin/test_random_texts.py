"""Random texts out of secrets, halves of secrets and what delicate texts are made of: however cut, one outcome."""

from __future__ import annotations

import random

import pytest

from processors.builtin import credential_urls, pem_blocks, redact
from processors.patterns.redactor import Redactor
from tests.processors.builtin.test_evasions import SECRETS
from tests.processors.builtin.texts import BUILTINS, settled

PROCESSORS: dict[str, Redactor] = {
    **{name: processor for name, (processor, _) in BUILTINS.items()},
    "whole urls": credential_urls(whole=True),
    "private blocks": pem_blocks(private_only=True),
    "all": redact([processor for processor, _ in BUILTINS.values()], numbered=True),
}
FRAGMENTS = [
    *(text for _, text in BUILTINS.values()),
    *SECRETS.values(),
    *(
        "-----BEGIN A KEY-----",
        "-----END",
        "@",
        "://",
        "a:b@",
        "4111",
        "1111 ",
        "GB82",
        "+49 ",
        "(415) ",
        "ssn ",
        "token=",
    ),
    *(
        "eyJ",
        ".",
        "\n",
        " ",
        "-",
        "\u200b",
        "\u0301",
        "é",
        "ﬁ",
        "①",
        "½",
        "한",
        "京",
        "👩\u200d💻",
        "＠",
        "０１",
        "аЕ",
        "_",
        '"',
    ),
    *(
        "0",
        "9",
        "x",
        "\u00ad",
        "aws_secret_access_key=",
        "AAAA" * 12,
        "big ",
        "TCK-",
        "12345",
        "%40",
        "=",
        "git@",
        "ssh://",
    ),
]


def drawn_text(chosen: random.Random) -> str:
    """Return some fragments and parts of fragments in a row."""
    text = ""
    for _ in range(chosen.randrange(1, 12)):
        fragment = chosen.choice(FRAGMENTS)
        if chosen.random() < 0.5:
            start = chosen.randrange(len(fragment))
            fragment = fragment[start : chosen.randrange(start, len(fragment) + 1)]
        text += fragment
    return text[:300]


@pytest.mark.parametrize("name", PROCESSORS, ids=lambda name: name.replace(" ", "-"))
def test_however_a_text_is_cut_the_outcome_is_one(name: str) -> None:
    """Each release is the next part of what the whole text becomes."""
    processor = PROCESSORS[name]
    chosen = random.Random(name)
    for _ in range(60):
        text = drawn_text(chosen)
        whole = settled(processor, text)
        for most in (1, 3, 30):
            scanner = processor.open_scanner()
            out, place = "", 0
            while place < len(text):
                step = chosen.randint(1, most)
                out += scanner.feed(text[place : place + step])
                place += step
                assert whole.startswith(out)
            assert out + scanner.finish() == whole
