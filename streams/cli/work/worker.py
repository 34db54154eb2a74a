"""One worker process, in the foreground."""

from __future__ import annotations

import asyncio

from streams.cli import session
from streams.cli.failures import OK, CommandError
from streams.settings import Settings


def run(role: str, **overrides: str | None) -> int:
    """Run a worker of `role` until the process is told to stop, and return the exit status.

    Raises:
        CommandError: this version has no such worker, or there is no broker.
        DepsError: the processors do not load, or a required control is not among them.
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
        TopicsError: the broker is out of reach, or topics are missing.
    """
    if role == "tools":
        raise CommandError("this version has no tool runner yet: use --role turns or --role models.")
    settings = session.begin(overrides, worker=True)
    asyncio.run(_work(role, settings, session.bootstrap_of(settings)))
    return OK


async def _work(role: str, settings: Settings, bootstrap: str) -> None:
    if role == "turns":
        from streams.roles.turns import run_turn_worker  # noqa: PLC0415 - one role need not import the other's

        await run_turn_worker(settings, bootstrap)
    else:
        from streams.roles.models import run_model_runner  # noqa: PLC0415 - the same

        await run_model_runner(settings, bootstrap)
