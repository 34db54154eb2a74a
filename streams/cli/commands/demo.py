"""`turngate demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Json


def demo(
    broker: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Run on these Kafka brokers instead of one of its own, in memory."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show turngate at work: five turns, what the model wrote beside what readers saw; then stop everything.

    Exits 1 if a turn did not end as it should.
    """
    from streams.cli.work.demo import run  # noqa: PLC0415 - see the package's text

    raise typer.Exit(run(broker, as_json=as_json))
