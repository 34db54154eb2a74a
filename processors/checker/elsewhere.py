"""A process like this one that is another, for finding out whether a processor's verdict differs from process to process.

Python's `hash` of a text does, and a worker has several processes that run processors. Replaces `hash` and `os.getpid` for
the processors; only in a process that does nothing but check.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def process_like(number: int, namespaces: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Have `hash` and the process id be those of process `number`, one of any that could be, while the context lasts."""
    pid = os.getpid

    def other_hash(value: object) -> int:
        return hash((number, hash(value)))

    def other_pid() -> int:
        return pid() + number

    changed: list[tuple[dict[str, Any], str, Any]] = []
    for namespace in (vars(os), *namespaces):
        for name, value in list(namespace.items()):
            if value is pid:
                changed.append((namespace, name, value))
                namespace[name] = other_pid
    for namespace in namespaces:
        if namespace.get("hash", hash) is hash:
            changed.append((namespace, "hash", namespace.get("hash", _ABSENT)))
            namespace["hash"] = other_hash
    try:
        yield
    finally:
        for namespace, name, value in changed:
            if value is _ABSENT:
                del namespace[name]
            else:
                namespace[name] = value
