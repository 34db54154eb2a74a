"""What is wrong with a pattern."""

from __future__ import annotations

from processors.errors import DeclarationError


class PatternError(DeclarationError):
    """The pattern is no regular expression, or cannot be matched in linear time: says which construct, and what to use."""
