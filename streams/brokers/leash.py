"""Run one command that must not outlive the process which asked for it.

Started as a script, `python leash.py COMMAND ARGUMENT...`, with a pipe as its standard input whose other end only the
owner holds. The pipe closes when the owner closes it or dies of anything, `kill -9` included; the command is killed
then. A pipe, and not the kernel's parent-death signal on its own, because that signal follows the *thread* that
started the child: a broker started from a short-lived thread would die with the thread.

Should this script itself be killed, Linux kills the command through the parent-death signal. Other systems have
nothing like it, so there the command stays behind in that one case.

Standard library only, and nothing from this project: it starts in a few milliseconds, in isolated mode.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from functools import partial

PR_SET_PDEATHSIG = 1
NOT_STARTED = 127


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the process `parent` ends; does nothing but on Linux."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the line above took effect
        os._exit(NOT_STARTED)


def _kill_when_released(child: subprocess.Popen[bytes]) -> None:
    """Wait for the end of standard input, then kill `child`."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    with contextlib.suppress(ProcessLookupError):
        child.kill()


def main(command: list[str]) -> int:
    """Run `command` until it ends by itself or the owner lets go; return its exit status as a shell would."""
    try:
        # The callback runs between fork and exec; no thread has been started yet, so that is safe.
        child = subprocess.Popen(  # noqa: S603 - the owner chose the command
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509
        )
    except (OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"cannot start {command[0]}: {error}\n")
        return NOT_STARTED
    threading.Thread(target=_kill_when_released, args=(child,), daemon=True).start()
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    # The leash ends by its pipe. Signals meant for the owner's group must not cut it before the owner is done.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main(sys.argv[1:]))
