"""Fingerprints of configurations: what changes them, and what does not."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from processors.patterns import Pattern
from processors.patterns.fingerprint import fingerprint


def above(limit: int) -> Callable[[str], bool]:
    """Return a check that closes over its limit."""
    return lambda text: len(text) > limit


class Slotted:
    """Holds one thing, without a dict."""

    __slots__ = ("__held",)

    def __init__(self, held: object) -> None:
        self.__held = held


class Open:
    """Holds one thing, and a method of its own."""

    def __init__(self, held: object) -> None:
        self.held = held
        self.bound = self.method

    def method(self) -> object:
        """Return what is held."""
        return self.held


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "b"),
        ("1", 1),
        (1, True),
        (None, "None"),
        (["a", "b"], ["b", "a"]),
        (["ab"], ["a", "b"]),
        ({"a": 1}, {"a": 2}),
        ({"a"}, {"b"}),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        (Pattern("a+"), Pattern("ab")),
        (Pattern("a+"), Pattern("a+", re.IGNORECASE)),
        (Pattern("a+", check=above(1)), Pattern("a+", check=above(2))),
        (lambda text: text + "a", lambda text: text + "b"),
        (lambda text: text.upper(), lambda text: text.lower()),
        (lambda text, by=1: text * by, lambda text, by=2: text * by),
        (str.upper, str.lower),
        ("a".startswith, "b".startswith),
        (functools.partial(int, base=2), functools.partial(int, base=8)),
        (str, bytes),
        (re, os),
        (Slotted(1), Slotted(2)),
        (Open(1), Open(2)),
        (Open(1).method, Open(2).method),
    ],
)
def test_what_differs_has_another_fingerprint(one: Any, other: Any) -> None:
    """In a value, wherever it is held."""
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint([one]) != fingerprint([other])


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"b": 1, "a": 2},
        lambda: Pattern(r"\ba+", check=above(3)),
        lambda: Slotted({"x": [1, 2.5, b"y"]}),
        lambda: Open(object()),
        lambda: functools.partial(above, 1),
    ],
)
def test_what_is_made_alike_has_the_same_fingerprint(make: Callable[[], object]) -> None:
    """Whatever its addresses are, and whether or not it holds itself."""
    kept = [make() for _ in range(3)]
    assert len({fingerprint(one) for one in kept}) == 1


def test_all_processes_agree() -> None:
    """Though sets have another order in each."""
    code = (
        "from processors.patterns.fingerprint import fingerprint; from processors import builtin; "
        "print(fingerprint(set('abcdefgh'), {'x': frozenset('ijkl')}), "
        "builtin.words(['one', 'two', 'three']).version, builtin.national_ids().version)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1
