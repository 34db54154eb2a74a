"""JSON Web Tokens."""

from __future__ import annotations

from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule

_PART = "[A-Za-z0-9_-]"
#: A header in base64 begins with that of `{"`. Signed: header, payload, signature, which may be cut off. Encrypted: five
#: parts, of which the key may be empty.
_TOKEN = rf"(?<![A-Za-z0-9])eyJ{_PART}{{6,}}(?:\.{_PART}{{4,}}(?:\.{_PART}+){{0,3}}|\.\.{_PART}+\.{_PART}+\.{_PART}+)"


def jwts(
    name: str = "redact-jwts", *, label: str = "JWT", placeholder: str = "[{label}]", numbered: bool = False
) -> Redactor:
    """Return a processor that replaces JSON Web Tokens, signed or encrypted, also without their signature."""
    # Not folded in case: tokens that differ in it are different tokens.
    rule = Rule(label, Pattern(_TOKEN), same=str)
    return Redactor(name, [rule], placeholder=placeholder, numbered=numbered)
