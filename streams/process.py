"""What every worker process does around its work: logging, ending at once when it must, running until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, Protocol

from streams.private_ids import SaltedIds

log = logging.getLogger(__name__)

#: Exit status of a process that stopped because going on would have broken a promise. A supervisor should restart it.
EXIT_FATAL = 70

_TOO_TALKATIVE = ("faust", "mode", "aiokafka", "kafka", "httpx", "httpx2", "openai", "streams.faust_shell")


def configure_logging(level: str, id_salt: str = "") -> None:
    """Log to stderr from `level` on; libraries that log content, every offset or every request only from warnings on.

    `id_salt` is the key of the hashes that stand in for ids.
    """
    logging.basicConfig(
        level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(SaltedIds(id_salt))
    for name in _TOO_TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def die(exc: BaseException) -> NoReturn:
    """End the process at once, without another acknowledgement, append or publication.

    What went wrong is named by class, and by message only where the message is our own: others may quote content.
    """
    own = type(exc).__module__.partition(".")[0] in {"streams", "topics", "processors"}
    place = exc.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else "unknown place"
    log.critical("stopping: %s at %s%s", type(exc).__name__, where, f": {exc}" if own else "")
    logging.shutdown()
    os._exit(EXIT_FATAL)


def worker_name() -> str:
    """Return a name for this process that tells people where it runs."""
    return f"{socket.gethostname()}-{os.getpid()}"


def unique() -> str:
    """Return a text that was never returned before, here or anywhere."""
    return uuid.uuid4().hex


#: New objects after which the garbage collector looks at them, and how many such looks it takes until older ones come
#: along, and all. Python's own 700, 10, 10 are for programs that keep little: open turns are some hundred objects each,
#: which stay, and to go through all of them stops every turn for tens of milliseconds.
COLLECTING = (10_000, 20, 100)


def spare_the_collector() -> None:
    """Take all that is in memory now for there to stay, and have the garbage collector look for more seldom.

    Modules, schemas and clients are some hundred thousand objects. To go through them takes a tenth of a second, for which
    every turn would stand still, again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTING)


class FaustService(Protocol):
    """A Faust app, as far as running it goes."""

    def finalize(self) -> None:
        """Freeze the app's configuration."""

    async def start(self) -> Any:
        """Start the app."""

    async def stop(self) -> Any:
        """Stop the app."""

    async def wait_until_stopped(self) -> Any:
        """Return when the app has stopped or crashed."""


async def run_until_stopped(app: FaustService, let_go: Callable[[], Awaitable[None]]) -> None:
    """Run `app` until SIGTERM or SIGINT; a crash of any of its parts ends the process instead.

    `let_go` stops the work on all partitions; it comes first, so that nothing is under way while the app is taken apart.
    Told to stop while it is still starting, which takes as long as the group's first rebalance, it ends the process at
    once: nothing has been taken in yet that would have to be handed back.
    """
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, told.set)
    app.finalize()
    waiting = asyncio.create_task(told.wait())
    starting = asyncio.create_task(app.start())
    await asyncio.wait({waiting, starting}, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        log.info("told to stop before the start was over")
        logging.shutdown()
        os._exit(0)
    starting.result()
    spare_the_collector()
    crashed = asyncio.create_task(app.wait_until_stopped())
    await asyncio.wait({waiting, crashed}, return_when=asyncio.FIRST_COMPLETED)
    if not told.is_set():
        die(getattr(app, "crash_reason", None) or RuntimeError("a part of the Faust app stopped by itself"))
    crashed.cancel()
    await let_go()
    await app.stop()
