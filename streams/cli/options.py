"""Options that several commands share, said once."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Broker: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="Kafka brokers, commas between. Without it: TURNGATE_BROKER, or else what `turngate up` runs here.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout, and nothing else.")]
Deps: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="MODULE:ATTRIBUTE", help="The processors, a Deps in Python. Without it: TURNGATE_DEPS."),
]
Tenant: TypeAlias = Annotated[str, typer.Option(help="Who the turn is billed and isolated by.")]
Partitions: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Partitions of the turn topics. Without it: TURNGATE_PARTITIONS.")
]
