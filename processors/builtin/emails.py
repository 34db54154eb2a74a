"""E-mail addresses."""

from __future__ import annotations

from processors.builtin.scripts import SPACED, UNSPACED
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule

_WORD = f"A-Za-z0-9_{SPACED}"
_ATOM = rf"{_WORD}.%+'&~#!$*^\-"
_LOCALS = (
    # Bounces carry another address in theirs.
    f"(?:prvs|btv1|SRS0|SRS1)=[{_ATOM}=]+",
    rf"[{_WORD}][{_ATOM}]*(?:\+[{_ATOM}=]*)?",
    f"[{UNSPACED}][{UNSPACED}0-9._+-]*",
    r'"(?:[^"\s\\]|\\[^\s]){1,64}"',
)
_LABELS = (f"[A-Za-z0-9{SPACED}-]+", f"[{UNSPACED}0-9-]+")
_LAST_LABELS = (f"[A-Za-z{SPACED}]{{2,}}", "xn--[A-Za-z0-9-]+", f"[{UNSPACED}]{{2,}}")
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
