"""Work that is done in steps, done at once."""

from __future__ import annotations

from typing import TypeVar

from streams.steps import Steps

T = TypeVar("T")


def at_once(work: Steps[T]) -> T:
    """Do all of `work`, and return what it came to."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
