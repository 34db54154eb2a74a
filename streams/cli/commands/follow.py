"""`turngate follow`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Json


def follow(
    *,
    turn: Annotated[
        str | None, typer.Option(metavar="ID", help="One turn: its id, or tenant/thread/turn. Ends when it ends.")
    ] = None,
    thread: Annotated[str | None, typer.Option(help="Only this conversation.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="All that is kept, and not only what comes from now on.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="With --turn: give up when nothing came for so long.", min=0.001),
    ] = None,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Print released frames, of all turns until Ctrl-C, or of one turn until it ends.

    With --turn the frames released so far come first, and it exits as `send` does: 0 only if the turn completed.
    """
    from streams.cli.work.follow import Which, run  # noqa: PLC0415 - see the package's text

    which = Which(turn=turn, thread=thread, tenant=tenant, from_beginning=from_beginning, timeout_s=timeout)
    raise typer.Exit(run(which, as_json=as_json, broker=broker))
