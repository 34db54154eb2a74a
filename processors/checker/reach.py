"""What a processor's code looks for, as far as it can be read off: its patterns, and the texts it names.

Functions are followed through their closures, defaults and the globals they use, objects through their attributes. What
is found only suggests texts to try; nothing is concluded from what is not found.
"""

from __future__ import annotations

import functools
import re
import sys
import types
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_MOST_OBJECTS = 4_000
_MOST_ITEMS = 200
_LONGEST = 400
_SPECIAL = re.compile(r"[\\\[(+*?{|^$]")
_RE2_CODE = re.compile(r"\\x\{([0-9A-Fa-f]+)\}")
_RE2_CLASS = re.compile(r"\\[pP](?:\{\^?\w+\}|[A-Za-z])")


@dataclass(slots=True)
class Reached:
    """The patterns (as for `re`, with flags) and texts in a processor's code, and the namespaces of its functions."""

    patterns: dict[tuple[str, int], None] = field(default_factory=dict)
    words: dict[str, None] = field(default_factory=dict)
    namespaces: list[dict[str, Any]] = field(default_factory=list)


def reach(roots: Iterable[object]) -> Reached:
    """Return what can be reached from some processors."""
    walk = _Walk()
    for root in roots:
        walk.visit(root)
    return walk.reached


class _Walk:
    def __init__(self) -> None:
        self.reached = Reached()
        self._seen: set[int] = set()
        # Kept alive: an id is only good for as long as its object lives.
        self._kept: list[object] = []

    def visit(self, found: object, depth: int = 0) -> None:
        if depth > 12 or len(self._seen) > _MOST_OBJECTS or id(found) in self._seen:  # noqa: PLR2004 - far enough
            return
        self._seen.add(id(found))
        self._kept.append(found)
        if isinstance(found, str):
            self._text(found)
        elif isinstance(found, re.Pattern):
            self._pattern(found.pattern, found.flags)
        elif type(found).__module__ == "re2":
            self._pattern(_from_re2(getattr(found, "pattern", "")), 0)
        else:
            for part in self._parts(found):
                self.visit(part, depth + 1)

    def _parts(self, found: object) -> Iterable[object]:
        if isinstance(found, types.FunctionType):
            return self._function(found)
        if isinstance(found, types.MethodType):
            return (found.__func__, found.__self__)
        if isinstance(found, functools.partial):
            return (found.func, *found.args, *found.keywords.values())
        if isinstance(found, Mapping):
            return [part for item in list(found.items())[:_MOST_ITEMS] for part in item]
        if isinstance(found, list | tuple | set | frozenset):
            return list(found)[:_MOST_ITEMS]
        if isinstance(found, type):
            named = () if _is_machinery(found.__module__) else vars(found).items()
            return [value for name, value in named if not (name.startswith("__") and isinstance(value, str))]
        if isinstance(found, types.ModuleType) or _is_library(type(found).__module__):
            return ()
        slots = [getattr(found, name, None) for name in getattr(type(found), "__slots__", ()) if isinstance(name, str)]
        return [type(found), *getattr(found, "__dict__", {}).values(), *slots]

    def _function(self, function: types.FunctionType) -> Iterable[object]:
        for cell in function.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not filled yet
                continue
        if _is_machinery(function.__module__ or ""):
            return
        if not any(known is function.__globals__ for known in self.reached.namespaces):
            self.reached.namespaces.append(function.__globals__)
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        for code in _codes(function.__code__):
            for constant in code.co_consts:
                if isinstance(constant, str | tuple | frozenset) and constant != function.__doc__:
                    yield constant
            for name in code.co_names:
                if name in function.__globals__:
                    yield from _named(function.__globals__[name], code)

    def _text(self, text: str) -> None:
        if not 0 < len(text) <= _LONGEST:
            return
        self.reached.words[text] = None
        if _SPECIAL.search(text):
            self._pattern(text, 0)

    def _pattern(self, pattern: object, flags: int) -> None:
        if not isinstance(pattern, str):
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                re.compile(pattern, flags)
            except (re.error, ValueError, OverflowError, RecursionError):
                return
        self.reached.patterns[pattern, flags] = None


def _codes(code: types.CodeType) -> Iterable[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _named(value: object, code: types.CodeType) -> Iterable[object]:
    """Yield what a global name stands for; of a module, what the function may take out of it."""
    if not isinstance(value, types.ModuleType):
        yield value
    elif not _is_library(value.__name__):
        yield from (vars(value)[name] for name in code.co_names if name in vars(value))


def _is_library(module: str) -> bool:
    """Tell whether the objects of a module are nobody's processors."""
    top = module.partition(".")[0]
    return (top in sys.stdlib_module_names and top != "__main__") or top in {"pydantic", "pydantic_core", "topics"}


def _is_machinery(module: str) -> bool:
    """Tell whether the code of a module says nothing about what a processor looks for: its objects may."""
    own = module == "processors" or (module.startswith("processors.") and not module.startswith("processors.builtin"))
    return own or _is_library(module)


def _from_re2(pattern: str) -> str:
    """Return an RE2 pattern in Python's spelling, near enough to make texts of it."""
    spelt = _RE2_CODE.sub(lambda match: f"\\U{int(match[1], 16):08x}", pattern)
    return _RE2_CLASS.sub(lambda match: r"\w" if match[0][1] == "p" else r"\W", spelt).replace(r"\z", r"\Z")
