"""`turngate settings`."""

from __future__ import annotations

import typer

from streams.cli.options import Broker, Deps, Json


def settings(broker: Broker = None, deps: Deps = None, as_json: Json = False) -> None:
    """Show every setting, where its value comes from, and the chains in force. Secrets are hidden."""
    from streams.cli.work.settings import show  # noqa: PLC0415 - see the package's text

    raise typer.Exit(show(as_json=as_json, broker=broker, deps=deps))
