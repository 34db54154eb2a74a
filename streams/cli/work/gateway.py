"""A gateway in the foreground."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from streams.cli import session
from streams.cli.failures import OK, CommandError
from streams.cli.work.stage import interrupts
from streams.settings import Settings

_NEEDS: Final = ("fastapi", "uvicorn")
#: Addresses at which only this machine is heard.
LOCAL: Final = frozenset({"127.0.0.1", "localhost", "::1"})
#: What to do where the extra is missing.
INSTALL: Final = "the gateway is not installed: `pip install 'turngate[gateway]'`"


def installed() -> bool:
    """Say whether what the gateway needs is there."""
    return all(find_spec(name) is not None for name in _NEEDS)


def run(overrides: Mapping[str, Any]) -> int:
    """Serve until the process is told to stop, and return the exit status.

    Raises:
        CommandError: the extra is not installed, or there is no broker.
        SettingsError: there are no keys, or the address cannot be listened on.
        DepsError: the processors do not load.
        TopicsError: the broker is out of reach, or topics are missing.
    """
    settings = session.begin(overrides, worker=True)
    if not installed():
        raise CommandError(INSTALL)
    asyncio.run(_serve(settings, session.bootstrap_of(settings)))
    return OK


async def _serve(settings: Settings, bootstrap: str) -> None:
    from streams.gateway import serve  # noqa: PLC0415 - only where the extra is there

    with interrupts() as told:
        await serve.run(settings, bootstrap, told)
