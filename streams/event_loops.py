"""How a turn worker's event loop runs, where text must not wait."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

#: How long another thread, such as the one that serves metrics, may keep the loop from running, in seconds. Python's own
#: 5 ms are longer than all that happens to a frame.
SWITCH_INTERVAL_S = 0.0005


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a loop of uvloop's if that is installed (the extra `fast` brings it), else of Python's own."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with asyncio.Runner(loop_factory=_fastest()) as runner:
        return runner.run(main)


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    return uvloop.new_event_loop
