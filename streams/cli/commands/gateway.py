"""`turngate gateway`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Broker, Deps


def gateway(
    *,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on. Without it: TURNGATE_GATEWAY_HOST.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port. Without it: TURNGATE_GATEWAY_PORT.")
    ] = None,
    open_: Annotated[
        bool | None,
        typer.Option("--open", help="Let everybody on this machine in without a key, on a loopback address."),
    ] = None,
    keys: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file of keys. Without it: TURNGATE_GATEWAY_KEYS_FILE.")
    ] = None,
    deps: Deps = None,
    broker: Broker = None,
) -> None:
    """Serve turns over HTTP in the foreground, until SIGTERM or Ctrl-C.

    It wants keys (see `turngate keys create`) unless --open is given. As many gateways as you like may stand in front of
    the same topics.
    """
    from streams.cli.work.gateway import run  # noqa: PLC0415 - see the package's text

    given = {
        "gateway_host": host,
        "gateway_port": port,
        "gateway_open": open_,
        "gateway_keys_file": keys,
        "deps": deps,
        "broker": broker,
    }
    raise typer.Exit(run(given))
