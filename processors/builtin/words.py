"""Word lists."""

from __future__ import annotations

import re
from collections.abc import Iterable

from processors.builtin.scripts import SPACED, TRAILING, is_unspaced
from processors.errors import DeclarationError
from processors.patterns import Pattern
from processors.patterns.folding import fold
from processors.patterns.redactor import Redactor, Rule

#: Marks on letters and what hides within words: a text is read with and without them, and without is how words end.
_HIDDEN = "\u00ad\u0300-\u036f\u200b-\u200d\u2060\ufeff"
_NOT_BEFORE = {False: f"(?<![0-9A-Za-z_{SPACED}{_HIDDEN}])", True: ""}
_NOT_AFTER = {False: f"(?![0-9A-Za-z_{SPACED}{_HIDDEN}])", True: f"(?![{TRAILING}{_HIDDEN}])"}


def words(
    listed: Iterable[str],
    name: str = "redact-words",
    *,
    case_sensitive: bool = False,
    label: str = "WORD",
    placeholder: str = "[{label}]",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces the words and phrases `listed`, in capitals or not unless `case_sensitive`.

    Never a part of a word: what `listed` has as `ass` is not found in `class`. Where a script sets no spaces between words
    (Chinese, Japanese, Thai and others) they are found anywhere. The words of a phrase may stand any white space apart.

    Raises:
        DeclarationError: nothing is listed, or a text where a list should be.
        PatternError: the list is too long for one pattern.
    """
    if isinstance(listed, str):
        raise DeclarationError("words: give a list of words, not one text")
    rules = [Rule(label, finder) for finder in _finders(listed, 0 if case_sensitive else re.IGNORECASE)]
    return Redactor(name, rules, placeholder=placeholder, numbered=numbered)


def _finders(listed: Iterable[str], flags: int) -> list[Pattern]:
    """Return a finder for each kind of words: the scripts of its ends say what may stand beside a word."""
    kinds: dict[tuple[bool, bool], set[str]] = {}
    for word in listed:
        # As it is, for the other case of letters that have no look-alike in it; and as it is read with evasions undone.
        for parts in (word.split(), fold(word).text.split()):
            if not parts:
                raise DeclarationError("words: a listed word is empty")
            kind = is_unspaced(parts[0][0]), is_unspaced(parts[-1][-1])
            kinds.setdefault(kind, set()).add(r"\s+".join(re.escape(part) for part in parts))
    if not kinds:
        raise DeclarationError("words: the list is empty: leave the processor out, or list a word")
    # The longest first, so that a phrase goes before the words that it begins with.
    return [
        Pattern(
            f"{_NOT_BEFORE[first]}(?:{'|'.join(sorted(found, key=lambda one: (-len(one), one)))}){_NOT_AFTER[last]}",
            flags,
        )
        for (first, last), found in sorted(kinds.items())
    ]
