"""What the gate benchmark feeds to every contender: the same texts, the same patterns, the same frames."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

FRAME_CHARS = 4

#: Named as in placeholders; written so that every contender's engine reads them alike.
PATTERNS = {
    "EMAIL": r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "TOKEN": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}",
    "SSN": r"\b\d{3}-\d{2}-\d{4}\b",
}

_SENTENCE = (
    "the gate reads an answer while a model writes it and lets go of what can no longer change so that people see "
    "most of it at once; numbers such as 12-34 or 3.14, names@ without a host, a dash - and an eye are not secrets, "
    "but they look like the beginning of one. "
)
_WORDS = _SENTENCE.split(" ")
_GRAM = 5


@dataclass(frozen=True)
class Secret:
    """An answer with one secret in it, and the pieces of that which occur nowhere else."""

    text: str
    grams: frozenset[str]

    def leaks_in(self, released: str) -> bool:
        """Return whether `released` has a piece of the secret in it."""
        return any(released[place : place + _GRAM] in self.grams for place in range(len(released) - _GRAM + 1))


def prose(chars: int) -> str:
    """Return a text that many patterns begin in and none matches."""
    chance = random.Random(1)
    parts: list[str] = []
    length = 0
    while length < chars:
        parts.append(chance.choice(_WORDS) + " ")
        length += len(parts[-1])
    text = "".join(parts)[:chars]
    if any(re.search(pattern, text) for pattern in PATTERNS.values()):
        raise RuntimeError("the prose must not match a pattern: change its words")
    return text


def secrets(count: int) -> list[Secret]:
    """Return answers with a secret each: any kind, anywhere, at every distance from the frames' borders."""
    chance = random.Random(2)
    return [_with_secret(chance) for _ in range(count)]


def _with_secret(chance: random.Random) -> Secret:
    before, after = (" ".join(chance.choices(_WORDS, k=chance.randint(5, 250))) for _ in range(2))
    secret = chance.choice([_email, _number, _token, _token])(chance)
    text = f"{before} {secret}{chance.choice([' ', ', ', '. '])}{after}"
    return Secret(text, frozenset(_grams(secret) - _grams(before) - _grams(after)))


def _email(chance: random.Random) -> str:
    return f"{_letters(chance, 6, 12)}@{_letters(chance, 5, 9)}.co.uk"


def _number(chance: random.Random) -> str:
    return f"{chance.randint(100, 999)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"


def _token(chance: random.Random) -> str:
    """Return what looks like a JWT; most are longer than any fixed window."""
    return f"eyJ{_letters(chance, 20, 40)}.eyJ{_letters(chance, 20, 400)}.{_letters(chance, 43, 43)}"


def _letters(chance: random.Random, least: int, most: int) -> str:
    return "".join(chance.choices("qwxzjkvQWXZJKV0123456789", k=chance.randint(least, most)))


def _grams(text: str) -> set[str]:
    return {text[place : place + _GRAM] for place in range(len(text) - _GRAM + 1)}


def frames_of(text: str) -> list[str]:
    """Return the text as a model streams it."""
    return [text[place : place + FRAME_CHARS] for place in range(0, len(text), FRAME_CHARS)]
