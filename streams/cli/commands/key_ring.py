"""`turngate key-ring`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json

app = typer.Typer(help="Keys that sensitive topics and journals are encrypted with.")


@app.command()
def add(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The new key's id, for example 2026-12: A-Z a-z 0-9 . _ -")],
    *,
    folder: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The folder of keys. Without it: TURNGATE_KEY_RING.")
    ] = None,
    activate: Annotated[
        bool, typer.Option("--activate", help="Seal with it from now on; the first key is active in any case.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a key and write it into the folder of keys; nothing shows what it is."""
    from streams.cli.work.key_ring import add as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(key, folder, activate=activate, as_json=as_json))


@app.command()
def activate(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The id of a key in the folder.")],
    folder: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The folder of keys. Without it: TURNGATE_KEY_RING.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Have processes that start from now on seal with this key."""
    from streams.cli.work.key_ring import activate as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(key, folder, as_json=as_json))


@app.command()
def status(broker: Broker = None, as_json: Json = False) -> None:
    """Show which keys the records that are kept are sealed with, and which may be taken away.

    Reads every record of the sensitive topics and journals, and opens none. Exits 1 if one wants a key that is not here.
    """
    from streams.cli.work.key_ring import status as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(as_json=as_json, broker=broker))
