"""What a declaration may consist of: names and numbers."""

from __future__ import annotations

import math
from typing import TypeGuard

MAX_NAME = 200


def is_name(value: object) -> bool:
    """Tell whether a value can name something in records, metrics and on a command line."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable() and not value.isspace()


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a finite number; a bool is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: object) -> TypeGuard[int]:
    """Tell whether a value is a whole number above 0; a bool is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
