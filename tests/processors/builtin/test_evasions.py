"""Evasions: each built-in sees through what hides a secret from a pattern and not from a reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from processors.builtin import redact
from processors.patterns.redactor import Redactor
from tests.processors.builtin.texts import BUILTINS, assert_no_split_leaks, settled

SECRETS = {
    "emails": "ann@mail.example",
    "phones": "415-555-2671",
    "cards": "4111 1111 1111 1111",
    "ibans": "GB82 WEST 1234 5698 7654 32",
    "national_ids": "219-09-9998",
    "api_keys": f"ghp_{'c3D4' * 9}",
    "jwts": "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMiJ9.c2ln",
    "pem_blocks": "-----BEGIN A KEY-----\nMHcC\n-----END A KEY-----",
    "credential_urls": "ann:secret@db.example",
    "words": "big secret",
    "profanity": "asshole",
    "patterns": "TCK-1234",
}
FULL_WIDTH = {chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)}
LOOKALIKES = dict(zip("ABEKMHOPCTXaceiopxys-", "АВЕКМНОРСТХасеіорхуѕ‑", strict=True))
EVASIONS: dict[str, Callable[[str], str]] = {
    "zero width": "\u200b".join,
    "soft hyphens": lambda text: text.replace("", "\u00ad")[1:-1],
    "word joiners": lambda text: text[0] + "\u2060\ufeff" + text[1:],
    "variation selectors": "\ufe0f".join,
    "full width": lambda text: "".join(FULL_WIDTH.get(char, char) for char in text),
    "look-alikes": lambda text: "".join(LOOKALIKES.get(char, char) for char in text),
    "marks": lambda text: "".join(char + "\u0301" if char.isalnum() else char for char in text),
    "wide spaces": lambda text: text.replace(" ", "\u00a0"),
    "other digits": lambda text: "".join(chr(0x0660 + int(char)) if char.isdigit() else char for char in text),
}


def processor_and_frame(name: str) -> tuple[Redactor, str, str]:
    """Return a built-in, and what stands around its secret."""
    processor, _ = BUILTINS[name]
    return processor, *(("See https://", " now") if name == "credential_urls" else ("See ", " now"))


@pytest.mark.parametrize("evasion", EVASIONS, ids=lambda evasion: evasion.replace(" ", "-"))
@pytest.mark.parametrize("name", SECRETS)
def test_an_evasion_hides_nothing(name: str, evasion: str) -> None:
    """What is found in plain letters is found in disguise, whole, and however the text is cut."""
    processor, before, after = processor_and_frame(name)
    plain = settled(processor, f"{before}{SECRETS[name]}{after}")
    assert SECRETS[name] not in plain
    hidden = EVASIONS[evasion](SECRETS[name])
    if name == "credential_urls":
        hidden = hidden[: len(hidden) - len("db.example")] + "db.example" if evasion == "other digits" else hidden
    outcome = settled(processor, f"{before}{hidden}{after}")
    assert outcome.startswith(plain[: plain.index("]") + 1] if "]" in plain else plain[: plain.rindex("***") + 3])
    for length in (6, len(hidden) // 2):
        assert hidden[:length] not in outcome


@pytest.mark.parametrize("name", SECRETS)
def test_no_split_of_a_disguise_leaks(name: str) -> None:
    """Invisible characters at the cut included."""
    processor, before, after = processor_and_frame(name)
    hidden = f"{before}{EVASIONS['zero width'](SECRETS[name])}\u200b{after} cafe\u0301s"
    assert_no_split_leaks(processor, hidden, settled(processor, hidden))


def test_what_is_no_disguise_stays() -> None:
    """Emoji joined by zero-width joiners, accents, and other scripts around a finding are released as they were."""
    processor = redact(processor for processor, _ in BUILTINS.values())
    text = "👩\u200d💻 a@b.example cafe\u0301 naïve Привет 北海道 नमस्ते ① ½"
    assert settled(processor, text) == text.replace("a@b.example", "[EMAIL]")
