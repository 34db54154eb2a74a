"""Libraries that only some of the built-ins need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from processors.errors import DeclarationError


def library(module: str, needed_by: str) -> ModuleType:
    """Return `module` of a library out of the extra `builtin`.

    Raises:
        DeclarationError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError:
        raise DeclarationError(
            f"{needed_by} needs the library of {module!r}: install turngate[builtin], or leave the processor out"
        ) from None
