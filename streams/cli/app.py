"""The commands, put together."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from streams.cli.commands import (
    audit,
    backtest,
    dead_letters,
    demo,
    erase,
    follow,
    gate,
    gateway,
    key_ring,
    keys,
    processors,
    send,
    settings,
    threads,
    topics,
    up,
    worker,
)
from streams.cli.failures import USAGE

app = typer.Typer(
    name="turngate",
    help=(
        "Gates LLM turns on Kafka: readers only ever see text that the whole processor chain approved.\n\n"
        "Exit status: 0 ok, 1 the turn or the check failed, 2 wrong usage or a bad setting, 3 no broker reached, "
        "70 a fault of turngate itself. Settings come from TURNGATE_* variables or turngate.toml."
    ),
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("up")(up.up)
app.command("worker")(worker.worker)
app.command("gateway")(gateway.gateway)
app.add_typer(keys.app, name="keys")
app.add_typer(key_ring.app, name="key-ring")
app.command("send")(send.send)
app.command("follow")(follow.follow)
app.add_typer(topics.app, name="topics")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(processors.app, name="processors")
app.add_typer(audit.app, name="audit")
app.add_typer(threads.app, name="threads")
app.command("erase")(erase.erase)
app.command("hash-id")(erase.hash_id)
app.command("gate")(gate.gate)
app.command("backtest")(backtest.backtest)
app.command("settings")(settings.settings)


def run(arguments: Sequence[str] | None) -> int:
    """Run a command line and return its exit status; errors are raised."""
    command = typer.main.get_command(app)
    args = list(arguments) if arguments is not None else None
    return command.main(args=args, prog_name="turngate", standalone_mode=False) or 0


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - rarely asked for

        typer.echo(f"turngate {version('turngate')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback has done it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        with contextlib.redirect_stdout(sys.stderr):  # with rich, getting the help prints it
            typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE)
