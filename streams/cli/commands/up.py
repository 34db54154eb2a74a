"""`turngate up`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.options import Deps, Json, Partitions


def up(
    *,
    workers: Annotated[int, typer.Option(min=1, help="How many turn workers.")] = 1,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="script|openai|URL",
            help="Who answers. script: answers are written in the requests. openai: what TURNGATE_OPENAI_* say. "
            "URL: this OpenAI-compatible server.",
        ),
    ] = None,
    deps: Deps = None,
    partitions: Partitions = None,
    broker: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Without it: TURNGATE_BROKER, or else a broker of its own, in memory."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="The port of its own broker. Without it, any that is free."),
    ] = None,
    gateway: Annotated[bool, typer.Option(help="Serve turns over HTTP too, for this machine.")] = True,
    gateway_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="The gateway's port. Without it: TURNGATE_GATEWAY_PORT, or any that is free."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the whole pipeline on this machine until Ctrl-C: broker, topics, turn workers, models, a gateway.

    Other commands find its broker by themselves. A worker that ends is started again. It says when it is ready: once
    every partition has its turn worker.
    """
    from streams.cli.work.up import Wish, run  # noqa: PLC0415 - see the package's text

    wish = Wish(
        workers=workers,
        model=model,
        partitions=partitions,
        port=port,
        gateway=gateway,
        gateway_port=gateway_port,
        as_json=as_json,
    )
    raise typer.Exit(run(wish, broker=broker, deps=deps))
