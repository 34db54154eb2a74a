"""One worker process, in the foreground."""

from __future__ import annotations

import asyncio

from streams import event_loops
from streams.cli import session
from streams.cli.failures import OK
from streams.settings import Settings


def run(role: str, **overrides: str | None) -> int:
    """Run a worker of `role` until the process is told to stop, and return the exit status.

    Raises:
        CommandError: there is no broker.
        DepsError: the processors do not load, a required control is not among them, or a tool runner finds no tools.
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
        TopicsError: the broker is out of reach, or topics are missing.
    """
    settings = session.begin(overrides, worker=True)
    work = _work(role, settings, session.bootstrap_of(settings))
    if role == "turns":
        event_loops.run(work)
    else:
        asyncio.run(work)
    return OK


async def _work(role: str, settings: Settings, bootstrap: str) -> None:
    if role == "turns":
        from streams.roles.turns import run_turn_worker  # noqa: PLC0415 - one role need not import the other's

        await run_turn_worker(settings, bootstrap)
    elif role == "tools":
        from streams.roles.tools import run_tool_runner  # noqa: PLC0415 - the same

        await run_tool_runner(settings, bootstrap)
    else:
        from streams.roles.models import run_model_runner  # noqa: PLC0415 - the same

        await run_model_runner(settings, bootstrap)
