"""Which event loop a turn worker runs in, and how often threads take turns with it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

RUN = """
    import asyncio, sys
    {before}
    from streams.event_loops import SWITCH_INTERVAL_S, run
    async def which(): return type(asyncio.get_running_loop()).__module__.partition(".")[0]
    print(run(which()))
    print(abs(sys.getswitchinterval() - SWITCH_INTERVAL_S) < 1e-6)
"""


def told(before: str = "") -> list[str]:
    """Return what a process says of its loop."""
    code = textwrap.dedent(RUN).format(before=before)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_the_loop_is_the_fast_one() -> None:
    """And no thread keeps it waiting for long."""
    assert told() == ["uvloop", "True"]


def test_without_the_extra_the_loop_is_pythons_own() -> None:
    """The worker does the same with it, and threads take turns as often."""
    assert told("sys.modules['uvloop'] = None") == ["asyncio", "True"]
