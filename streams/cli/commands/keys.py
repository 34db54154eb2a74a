"""`turngate keys`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Json, Tenant

app = typer.Typer(help="Keys with which callers use the gateway.")


@app.callback()
def _keys() -> None:
    """Keep `create` a sub-command though it is the only one."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is called in limits: A-Z a-z 0-9 _ -")],
    *,
    tenant: Tenant = "default",
    user: Annotated[
        str | None,
        typer.Option(help="The id of the user whose every turn with this key is; without it, the caller says."),
    ] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="May see what models wrote, where TURNGATE_GATEWAY_FRAMES is `show`.")
    ] = False,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Add the hash to this file. Without it: TURNGATE_GATEWAY_KEYS_FILE."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a key and print it: this once, as only its hash is kept.

    Gateways that use the file know the key within seconds. Without a file, the entry to put into one is printed too.
    """
    from streams.cli.work.keys import create as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(name, tenant, user, file, operator=operator, as_json=as_json))
