"""`turngate processors`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.commands.gate import Window
from streams.cli.options import Deps, Json

app = typer.Typer(help="Look after processors.")


@app.callback()
def _group() -> None:
    """Keep a lone command a subcommand."""


@app.command()
def check(
    chain: Annotated[
        str,
        typer.Argument(
            metavar="NAME|CHAIN",
            help="module:attribute of a Deps, or of a list of output processors; or the name of one in TURNGATE_DEPS.",
        ),
    ],
    *,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="More texts: JSON Lines, each a text or an object with `text`. `-` is stdin."
        ),
    ] = None,
    window: Annotated[Window | None, typer.Option(help="Instead of what the Deps says.")] = None,
    show: Annotated[
        bool | None,
        typer.Option("--show/--no-show", help="Show the texts of examples. Without it: all but those of --corpus."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of random splits.")] = 0,
    limit_s: Annotated[float, typer.Option("--limit", min=0.1, help="Seconds after which a call hangs.")] = 5.0,
    budget_s: Annotated[float, typer.Option("--budget", min=0.1, help="Seconds for each part of the check.")] = 120.0,
    deps: Deps = None,
    as_json: Json = False,
) -> None:
    """Check that no split of an answer leaks what a chain would have held back, and how much it has to hold back.

    Reports the shortest split that breaks the promise, the smallest windows that hold, patterns that have no bound or
    are slow, and verdicts that depend on anything but the text. Exits 0 if the promise holds, 1 if not, 2 if CHAIN or
    FILE cannot be used. With --json each line is a finding, the last one a summary.
    """
    from streams.cli.work.check import Request, run  # noqa: PLC0415 - see the package's text

    request = Request(
        chain=chain,
        corpus=corpus,
        window=window.value if window else None,
        show=show,
        seed=seed,
        limit_s=limit_s,
        budget_s=budget_s,
        deps=deps,
    )
    raise typer.Exit(run(request, as_json=as_json))
