"""Telling turngate's own code, which is known to run in linear time, from an operator's, which is not."""

from __future__ import annotations

from typing import Any

_OURS = f"{__name__.partition('.')[0]}."


def is_ours(code: Any) -> bool:
    """Return whether a function or class was written for turngate, or is one of Python's own methods (`str.casefold`)."""
    module = getattr(code, "__module__", None) or getattr(getattr(code, "__objclass__", None), "__module__", None)
    return module == "builtins" or f"{module}".startswith(_OURS)
