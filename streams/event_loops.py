"""How a worker's event loops run, where text must not wait: its own, and that of the thread in which it fetches."""

from __future__ import annotations

import asyncio
import sys

#: How long one thread may keep the other from running, in seconds. With Python's own 5 ms, what was fetched waits for that
#: long while turns are worked on, and that is longer than all else that happens to it.
SWITCH_INTERVAL_S = 0.0005


def hurry() -> bool:
    """Have loops that this process makes from now on be uvloop's, if that is installed, and threads take turns often.

    Return whether it is uvloop: the extra `fast` brings it.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        import uvloop  # noqa: PLC0415 - an extra
    except ImportError:
        return False
    # Not `uvloop.run`: the thread in which Faust's consumer runs makes a loop of its own.
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    return True
