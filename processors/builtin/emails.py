"""E-mail addresses."""

from __future__ import annotations

from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule

#: Letters of scripts that set spaces between words, beyond ASCII.
_SPACED = "À-ÖØ-öø-ʯΆΈ-ҁҊ-Ֆՠ-ֈא-תؠ-يٮ-ۓऀ-ॣ०-෕Ⴀ-ჿḀ-ỿἀ-ῼ"
#: Letters of scripts that do not: an address may stand between them with nothing around it.
_UNSPACED = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0edf\u1000-\u104f\u1100-\u11ff\u1780-\u17d3ぁ-ゖァ-ヺー㐀-鿿\U00020000-\U0003ffff"
_WORD = f"A-Za-z0-9_{_SPACED}"
_ATOM = rf"{_WORD}.%+'&~#!$*^\-"
_LOCALS = (
    # Bounces carry another address in theirs.
    f"(?:prvs|btv1|SRS0|SRS1)=[{_ATOM}=]+",
    rf"[{_WORD}][{_ATOM}]*(?:\+[{_ATOM}=]*)?",
    f"[{_UNSPACED}][{_UNSPACED}0-9._+-]*",
    r'"(?:[^"\s\\]|\\[^\s]){1,64}"',
)
_LABELS = (f"[A-Za-z0-9{_SPACED}-]+", f"[{_UNSPACED}0-9-]+")
_LAST_LABELS = (f"[A-Za-z{_SPACED}]{{2,}}", "xn--[A-Za-z0-9-]+", f"[{_UNSPACED}]{{2,}}")
_ADDRESS = (
    rf"(?:{'|'.join(_LOCALS)})(?:@|%40)"
    rf"(?:(?:(?:{'|'.join(_LABELS)})\.)+(?:{'|'.join(_LAST_LABELS)})|\[(?:IPv6:)?[0-9A-Fa-f.:]{{3,45}}\])"
)


def emails(
    name: str = "redact-emails", *, label: str = "EMAIL", placeholder: str = "[{label}]", numbered: bool = False
) -> Redactor:
    """Return a processor that replaces e-mail addresses.

    Among them are those with plus signs, quoted ones without spaces, bounces that carry another address, those in other
    scripts, with a host in brackets, or with their `@` encoded as in a URL.
    """
    return Redactor(name, [Rule(label, Pattern(_ADDRESS))], placeholder=placeholder, numbered=numbered)
