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
    # Without spaces any letter could begin one: a bound, or whole sentences would be held back.
    f"[{UNSPACED}][{UNSPACED}0-9._+-]{{0,15}}",
    r'"(?:[^"\s\\]|\\[^\s]){1,64}"',
)
_LABELS = (f"[A-Za-z0-9{SPACED}-]+", f"[{UNSPACED}0-9-]+")
_LAST_LABELS = ("xn--[A-Za-z0-9-]+", f"[A-Za-z{SPACED}]{{2,}}", f"[{UNSPACED}]{{2,}}")
_ADDRESS = (
    rf"(?:{'|'.join(_LOCALS)})(?:@|%40)"
    rf"(?:(?:(?:{'|'.join(_LABELS)})\.)+(?:{'|'.join(_LAST_LABELS)})|\[(?:IPv6:)?[0-9A-Fa-f.:]{{3,45}}\])"
)


def _is_mailbox(found: str) -> bool:
    return not found.startswith("git@")


def emails(
    name: str = "redact-emails", *, label: str = "EMAIL", placeholder: str = "[{label}]", numbered: bool = False
) -> Redactor:
    """Return a processor that replaces e-mail addresses.

    Among them are those with plus signs, quoted ones without spaces, bounces that carry another address, those in other
    scripts (of a name in a script without spaces the last 16 characters), with a host in brackets, or with their `@`
    encoded as in a URL. `git@host`, as in repository URLs, is none.
    """
    return Redactor(
        name, [Rule(label, Pattern(_ADDRESS, check=_is_mailbox))], placeholder=placeholder, numbered=numbered
    )
