"""`turngate audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json

app = typer.Typer(help="What was decided, and by whom.")


@app.callback()
def _group() -> None:
    """Keep a lone command a subcommand."""


@app.command()
def export(
    since: Annotated[str | None, typer.Option("--from", metavar="TIME", help="The first, in ISO 8601; UTC.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="TIME", help="The last. Without it: now.")] = None,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Print every change of the deployments and every decision of processors about turns, without content.

    In order of time. With --json an object a line, as on the topics `audit` and `decisions`, without the processors' own
    words.
    """
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deployed import export as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(since, until, Asked(broker, as_json=as_json)))
