"""Which event loops a turn worker's process makes, and how often its threads take turns."""

from __future__ import annotations

import subprocess
import sys
import textwrap

HURRIED = """
    import asyncio, sys, threading
    {before}
    from streams.event_loops import SWITCH_INTERVAL_S, hurry
    print(hurry())
    async def which(): return type(asyncio.get_running_loop()).__module__.partition(".")[0]
    print(asyncio.run(which()))
    loops = []
    thread = threading.Thread(target=lambda: loops.append(asyncio.new_event_loop()))
    thread.start()
    thread.join()
    print(type(loops[0]).__module__.partition(".")[0])
    print(abs(sys.getswitchinterval() - SWITCH_INTERVAL_S) < 1e-6)
"""


def hurried(before: str = "") -> list[str]:
    """Return what a process says of itself that was told to hurry."""
    code = textwrap.dedent(HURRIED).format(before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_all_loops_of_the_process_are_the_fast_ones() -> None:
    """Also that of another thread: Faust's consumer has one of its own."""
    assert hurried() == ["True", "uvloop", "uvloop", "True"]


def test_without_the_extra_the_loops_are_pythons_own() -> None:
    """The worker does the same with them, and its threads take turns as often."""
    assert hurried("sys.modules['uvloop'] = None") == ["False", "asyncio", "asyncio", "True"]
