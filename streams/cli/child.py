"""A worker process that another command owns: it runs a command line, and ends with its owner, however that ends.

Where the kernel can (Linux) it kills this process along with the owner. Everywhere, standard input is a pipe that only
the owner holds, and its end means that the owner is gone. Dying like that is safe at any moment.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn

from streams.brokers.leash import die_with_parent

_ORPHANED = 71


def main(owner: int) -> NoReturn:
    """Run the command line in `sys.argv` for the process `owner`."""
    die_with_parent(owner)
    threading.Thread(target=_end_with_owner, name="owner", daemon=True).start()
    from turngate import main as run  # noqa: PLC0415 - only once this process has been tied to its owner

    sys.exit(run())  # type: ignore[arg-type] # what the command line returns is the exit status


def _end_with_owner() -> None:
    try:
        while os.read(0, 4096):
            pass
    finally:
        os._exit(_ORPHANED)
