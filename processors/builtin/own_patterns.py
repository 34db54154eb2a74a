"""Patterns of the operator's own."""

from __future__ import annotations

from collections.abc import Mapping

from processors.errors import DeclarationError
from processors.patterns import Pattern, PatternError
from processors.patterns.redactor import Redactor, Rule


def patterns(
    labelled: Mapping[str, str],
    name: str = "redact-patterns",
    *,
    flags: int = 0,
    placeholder: str = "[{label}]",
    numbered: bool = False,
    folds: bool = True,
) -> Redactor:
    """Return a processor that replaces what the patterns match, each by the label it is `labelled` with.

    Patterns are written as for Python's `re`, with `flags` as there, and run in linear time. With `folds` they are matched
    against the text as it is, and also with evasions undone: plain letters without accents, digits 0 to 9, no invisible
    characters.

    Raises:
        DeclarationError: there is no pattern.
        PatternError: a pattern is none, matches the empty text, or cannot be matched in linear time.
    """
    if not labelled:
        raise DeclarationError("patterns: there is none: leave the processor out, or give it one")
    rules = [Rule(label, _compiled(label, pattern, flags)) for label, pattern in labelled.items()]
    return Redactor(name, rules, placeholder=placeholder, numbered=numbered, folds=folds)


def _compiled(label: str, pattern: str, flags: int) -> Pattern:
    try:
        return Pattern(pattern, flags)
    except PatternError as exc:
        raise PatternError(f"pattern {label!r}: {exc}") from None
