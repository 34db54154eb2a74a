"""`turngate gate`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from streams.cli.options import Json


class Window(StrEnum):
    """How the lookbacks of a chain's members combine."""

    WIDEST = "widest"
    SUM = "sum"


def gate(
    chain: Annotated[
        str, typer.Argument(metavar="CHAIN", help="module:attribute of a Deps, or of a list of output processors.")
    ],
    frames: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="The answer: JSON Lines, each a text or an object with a model frame's fields. `-` is stdin.",
        ),
    ],
    window: Annotated[Window | None, typer.Option(help="Instead of what the Deps says.")] = None,
    as_json: Json = False,
) -> None:
    """Send one answer through a chain, without a broker: each release, then the outcome.

    With --json the last line has outcome, text, error, processor and reason. Exits 0 if the answer completed, 1 if it
    was rejected or failed, 2 if FILE or CHAIN cannot be used.
    """
    from streams.cli.work.gate import run  # noqa: PLC0415 - see the package's text

    raise typer.Exit(run(chain, frames, window.value if window else None, as_json=as_json))
