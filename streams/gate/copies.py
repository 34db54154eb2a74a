"""Copies of immutable states with some fields changed: what every journal record costs, so it has to be quick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

S = TypeVar("S")


def changed(state: S, **changes: Any) -> S:
    """Return a copy of `state`, a dataclass with slots, with `changes` by field name.

    As `dataclasses.replace`, at less than half the price, because it calls no constructor: not for classes whose
    `__post_init__` checks or derives anything.

    Raises:
        KeyError: there is no such field.
    """
    shape: Any = type(state)
    read, writers, places = _layout(shape)
    values = list(read(state))
    for name, value in changes.items():
        values[places[name]] = value
    copy: S = object.__new__(shape)
    for write, value in zip(writers, values, strict=True):
        write(copy, value)
    return copy


@cache
def _layout(
    shape: type[Any],
) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Callable[..., None], ...], Mapping[str, int]]:
    """Return what reads all fields of `shape` at once, what writes each of them, and each one's place."""
    names = [field.name for field in fields(shape)]
    return (
        attrgetter(*names),
        # Past the class's own `__setattr__`, which refuses: a slot is written to by its descriptor.
        tuple(getattr(shape, name).__set__ for name in names),
        {name: place for place, name in enumerate(names)},
    )
