"""`turngate threads`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json

app = typer.Typer(help="Look at conversations as the pipeline remembers them.")


@app.command("list")
def list_(broker: Broker = None, as_json: Json = False) -> None:
    """Show which threads are remembered, how many turns of each, and when the last one ended; never what was said."""
    from streams.cli.work.threads import list_threads  # noqa: PLC0415 - see the package's text

    raise typer.Exit(list_threads(as_json=as_json, broker=broker))


@app.command()
def show(
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    tenant: Annotated[str, typer.Option(help="Whose thread it is.")] = "default",
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Show what a thread remembers: users' messages, replies, tool calls and results, in order. Exits 1 if nothing."""
    from streams.cli.work.threads import show_thread  # noqa: PLC0415 - see the package's text

    raise typer.Exit(show_thread(thread, tenant, as_json=as_json, broker=broker))
