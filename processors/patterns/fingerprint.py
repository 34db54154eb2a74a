"""A digest of a configuration: the same for the same one in every process, and another for another."""

from __future__ import annotations

import functools
import hashlib
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

_CHARS = 12
#: Callables without a source of their own that are told apart by their name.
_NAMED = (
    type,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)


def fingerprint(*parts: object) -> str:
    """Return a short digest of `parts`: of their values, of what objects hold, and of the code of functions.

    Functions are known by their name, code, defaults and what they close over, not by the globals that they read, and
    classes by their name. Nothing of the process goes in (addresses, the order of sets), so that all workers that load the
    same configuration, on one version of Python, agree.
    """
    return hashlib.sha256(_spell(parts, frozenset()).encode(errors="backslashreplace")).hexdigest()[:_CHARS]


def _spell(value: object, within: frozenset[int]) -> str:
    """Return a text that says all of `value`; `within` are the objects that it is a part of, by id."""
    if id(value) in within:
        return "<itself>"
    if value is None or isinstance(value, str | bytes | int | float | complex):
        return f"{type(value).__qualname__}:{_plain(value)}"
    within |= {id(value)}
    said = [_spell(part, within) for part in _parts(value)]
    if isinstance(value, Mapping | AbstractSet):
        said.sort()
    return f"{_kind(value)}({','.join(said)})"


def _plain(value: object) -> str:
    """Return what a plain value looks like, whatever its class would have it look like."""
    for base in (str, bytes, int, float, complex):
        if isinstance(value, base):
            return base.__repr__(value)
    return repr(value)


def _parts(value: object) -> Iterable[object]:
    """Return what there is to say of `value`."""
    if isinstance(value, re.Pattern):
        return value.pattern, value.flags
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, Sequence | AbstractSet):
        return value
    if isinstance(value, types.ModuleType):
        return (value.__name__,)
    if isinstance(value, types.CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, types.FunctionType):
        held = [_content(cell) for cell in value.__closure__ or ()]
        return _name(value), value.__code__, value.__defaults__, value.__kwdefaults__, held
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, _NAMED):
        return _name(value), getattr(value, "__self__", None)
    return (dict(_state(value)),)


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', '')}"


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _state(value: object) -> Iterator[tuple[str, object]]:
    """Yield the attributes that an object holds itself."""
    yield from getattr(value, "__dict__", {}).items()
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{base.__name__.lstrip('_')}{slot}" if slot.startswith("__") else slot
            if slot not in ("__dict__", "__weakref__") and hasattr(value, name):
                yield slot, getattr(value, name)
