"""A list of English profanities."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from processors.builtin.words import words
from processors.patterns.redactor import Redactor


def profanity(
    name: str = "redact-profanity",
    *,
    also: Iterable[str] = (),
    allowed: Iterable[str] = (),
    label: str = "PROFANITY",
    placeholder: str = "***",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces English swear words and slurs, the words `also` given, and not those `allowed`.

    The list is short on purpose: words that are harmless in most texts are not on it.
    """
    kept = {word.casefold() for word in allowed}
    listed = [word for word in (*english(), *also) if word.casefold() not in kept]
    return words(listed, name, label=label, placeholder=placeholder, numbered=numbered)


def english() -> list[str]:
    """Return the words of the list."""
    lines = (files("processors.builtin") / "data" / "profanity_en.txt").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
