"""What the gate benchmark feeds to every contender: the same texts, the same patterns, the same frames."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

FRAME_CHARS = 4

#: Named as in placeholders; written so that every contender's engine reads them alike.
PATTERNS = {
    "EMAIL": r"[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
    "KEY": r"fk-live-[A-Za-z0-9]{16,}",
    "SSN": r"\b\d{3}-\d{2}-\d{4}\b",
}

_SENTENCE = (
    "the gate reads an answer while a model writes it and lets go of what can no longer change so that people see "
    "most of it at once; numbers such as 12-34 or 3.14, names@ without a host, a dash - and live keys are not secrets, "
    "but they look like the beginning of one. "
)
_WORDS = _SENTENCE.split(" ")
_GRAM = 5


@dataclass(frozen=True)
class Secrets:
    """A text with secrets in it, and the pieces of them that occur nowhere else."""

    text: str
    grams: frozenset[str]

    def leak_in(self, released: str) -> bool:
        """Return whether `released` has a piece of a secret in it."""
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


def secrets(chars: int) -> Secrets:
    """Return a text with a secret every few hundred characters, at every distance from the frames' borders."""
    chance = random.Random(2)
    parts: list[str] = []
    length = 0
    hidden: list[str] = []
    while length < chars:
        parts.append(" ".join(chance.choices(_WORDS, k=chance.randint(20, 60))) + " ")
        hidden.append(_secret(chance))
        parts += (hidden[-1], chance.choice([" ", ", ", ". "]))
        length += sum(map(len, parts[-3:]))
    text = "".join(parts)
    harmless = re.sub("|".join(f"(?:{pattern})" for pattern in PATTERNS.values()), "\n", text)
    known = _grams(harmless)
    return Secrets(text, frozenset(gram for one in hidden for gram in _grams(one) - known))


def _secret(chance: random.Random) -> str:
    kind = chance.randrange(4)
    if kind == 0:
        return f"{_letters(chance, 6, 12)}@{_letters(chance, 5, 9)}.co.uk"
    if kind == 1:
        return f"fk-live-{_letters(chance, 24, 40)}"
    if kind == 2:  # noqa: PLR2004 - the third of four kinds
        # Tokens of some providers are this long, and longer than most windows.
        return f"fk-live-{_letters(chance, 180, 260)}"
    return f"{chance.randint(100, 999)}-{chance.randint(10, 99)}-{chance.randint(1000, 9999)}"


def _letters(chance: random.Random, least: int, most: int) -> str:
    return "".join(chance.choices("qwxzjkvQWXZJKV0123456789", k=chance.randint(least, most)))


def _grams(text: str) -> set[str]:
    return {text[place : place + _GRAM] for place in range(len(text) - _GRAM + 1)}


def frames_of(text: str) -> list[str]:
    """Return the text as a model streams it."""
    return [text[place : place + FRAME_CHARS] for place in range(0, len(text), FRAME_CHARS)]
