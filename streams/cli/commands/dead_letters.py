"""`turngate dead-letters`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json

app = typer.Typer(help="Look at records that were refused, and send them again.")


@app.command("list")
def list_(broker: Broker = None, as_json: Json = False) -> None:
    """Show what was refused, where it is and why; never what it says."""
    from streams.cli.work.dead_letters import list_letters  # noqa: PLC0415 - see the package's text

    raise typer.Exit(list_letters(as_json=as_json, broker=broker))


@app.command()
def show(
    letter: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it: topic/partition/offset.")],
    content: Annotated[bool, typer.Option("--content", help="Show the refused record itself, too.")] = False,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Show one dead letter, and whether its record is still there."""
    from streams.cli.work.dead_letters import show_letter  # noqa: PLC0415 - see the package's text

    raise typer.Exit(show_letter(letter, with_content=content, as_json=as_json, broker=broker))


@app.command()
def replay(
    letters: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="As `list` shows them.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are kept.")] = False,
    error: Annotated[str | None, typer.Option(metavar="NAME", help="All that were refused with this error.")] = None,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Send refused records again, as they were; what was taken already changes nothing. Exits 1 if one could not be.

    With --all or --error, letters about one and the same record (it was sent again and refused again) send it once.
    """
    from streams.cli.work.dead_letters import Choice  # noqa: PLC0415 - see the package's text
    from streams.cli.work.dead_letters import replay as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(Choice(tuple(letters or ()), every=every, error=error), as_json=as_json, broker=broker))
