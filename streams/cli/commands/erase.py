"""`turngate erase` and `turngate hash-id`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json

_Thread = Annotated[str | None, typer.Option(metavar="ID", help="The thread.")]
_User = Annotated[str | None, typer.Option(metavar="ID", help="The user, as requests name them.")]
_Tenant = Annotated[str, typer.Option(help="Whose thread or user it is.")]


def erase(
    *,
    thread: _Thread = None,
    user: _User = None,
    tenant: _Tenant = "default",
    cancel_open: Annotated[
        bool, typer.Option("--cancel-open", help="Cancel open turns there. Without it they stand in the way.")
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who does it, for the audit trail. Without it: the user, and the host."),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=1, max=3600, metavar="SECONDS", help="How long to wait for turn workers.")
    ] = 30.0,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Erase a thread, or every thread a user spoke in, from the workers' journals; say what remains elsewhere till when.

    Exits 1 unless the owner of every partition says that it is done.
    """
    from streams.cli.work.erase import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.erase import erase as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(Asked(tenant, thread, user, cancel_open, by, wait), as_json=as_json, broker=broker))


def hash_id(
    *,
    thread: _Thread = None,
    turn: Annotated[str | None, typer.Option(metavar="ID", help="A turn of the thread.")] = None,
    user: _User = None,
    tenant: _Tenant = "default",
    as_json: Json = False,
) -> None:
    """Show how logs and the audit trail name a thread, a turn or a user: hashed, with TURNGATE_LOG_ID_SALT as the key."""
    from streams.cli.work.erase import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.erase import hash_id as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(Asked(tenant, thread, user), turn, as_json=as_json))
