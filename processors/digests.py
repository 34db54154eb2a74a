"""Digests of code: of a function or class, with what it uses of its own module. A change beside it changes nothing.

What it uses of other modules counts by name only: a helper there that is changed needs a new version of whoever uses it.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

_CHARS = 12
_PLAIN = (str, bytes, int, float, bool, type(None))


def source_digest(source: object) -> str:
    """Return a short digest of the source of a function, class or module, "0" where there is none to read."""
    text = _text(source)
    return "0" if text is None else _short(text)


def code_digest(source: object) -> str:
    """Return a short digest of a function or class with all that it uses of its module; "0" without a source."""
    seen: dict[int, str] = {}
    _collect(source, getattr(source, "__module__", None), seen)
    return _short("\n".join(sorted(seen.values()))) if seen else "0"


def _collect(one: object, module: str | None, seen: dict[int, str]) -> None:
    """Add the text of `one`, a definition of `module`, and of the definitions there that it uses."""
    text = _text(one)
    if id(one) in seen or text is None:
        return
    seen[id(one)] = text
    for function in _functions(one):
        for name in _names(function.__code__):
            used = function.__globals__.get(name)
            if inspect.isroutine(used) or inspect.isclass(used):
                if getattr(used, "__module__", None) == module:
                    _collect(used, module, seen)
            elif _is_constant(used) and name in function.__globals__:
                seen.setdefault(id(used), f"{name} = {used!r}")


def _functions(one: object) -> Iterator[FunctionType]:
    if isinstance(one, FunctionType):
        yield one
    elif isinstance(one, type):
        for member in vars(one).values():
            function = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(function, FunctionType):
                yield function


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_constant(one) for one in value)
    return isinstance(value, (*_PLAIN, re.Pattern))


def _text(source: object) -> str | None:
    try:
        return inspect.getsource(source)  # type: ignore[arg-type] # anything without a source raises
    except (OSError, TypeError):
        return None


def _short(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:_CHARS]
