"""`turngate backtest`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json


def backtest(
    chain: Annotated[
        str,
        typer.Argument(
            metavar="CHAIN", help="The candidate: module:attribute, or NAME@VERSION of a version that was pushed."
        ),
    ],
    frames: Annotated[
        str,
        typer.Option(
            metavar="TOPIC|FILE",
            help="Recorded answers: `frames`, or JSON Lines of model frames, or of arrays of frames. `-` is stdin.",
        ),
    ],
    *,
    against: Annotated[
        str | None,
        typer.Option(metavar="CHAIN", help="What to compare with. Without it: TURNGATE_DEPS, and what is deployed."),
    ] = None,
    sample: Annotated[int, typer.Option(min=0, help="How many differences to show.")] = 10,
    show: Annotated[bool, typer.Option("--show", help="Show the texts where they differ.")] = False,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Send recorded answers through a candidate chain, beside the active one, and compare what readers would see.

    Counts what each completes, changes, rejects and fails, answers on which a chain does not keep its promise, and the time
    its processors take. With --json each line is a difference, the last one the counts. Exits 0 unless the candidate fails
    an answer, then 1.
    """
    from streams.cli.work.backtest import Request, run  # noqa: PLC0415 - see the package's text

    raise typer.Exit(run(Request(chain, frames, against, sample, show, broker), as_json=as_json))
