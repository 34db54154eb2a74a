"""`turngate worker`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from streams.cli.options import Broker, Deps


class Role(StrEnum):
    """What a worker does."""

    TURNS = "turns"
    MODELS = "models"
    TOOLS = "tools"


def worker(
    role: Annotated[
        Role, typer.Option(help="turns: gates the answers. models: calls the models. tools: calls the tools.")
    ],
    deps: Deps = None,
    broker: Broker = None,
) -> None:
    """Run one worker in the foreground, until SIGTERM or Ctrl-C.

    Exits 70 when it stopped because going on would have broken a promise: start it again then.
    """
    from streams.cli.work.worker import run  # noqa: PLC0415 - see the package's text

    raise typer.Exit(run(role.value, broker=broker, deps=deps))
