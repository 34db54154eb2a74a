"""`turngate topics`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import Broker, Json, Partitions


class AclRole(StrEnum):
    """Whose permissions are printed."""

    TURNS = "turns"
    MODELS = "models"
    TOOLS = "tools"
    CALLERS = "callers"
    READERS = "readers"
    OPERATOR = "operator"


class SchemaFormat(StrEnum):
    """What the records' shapes are written in."""

    JSON_SCHEMA = "json-schema"
    ASYNCAPI = "asyncapi"


app = typer.Typer(help="Create, check, list and describe the pipeline's topics.")


@app.command()
def create(
    broker: Broker = None,
    partitions: Partitions = None,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Replicas of each topic. Without it: TURNGATE_REPLICATION.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create what is missing; topics that are there and right are left alone."""
    from streams.cli.work.topics import create as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(as_json=as_json, broker=broker, partitions=partitions, replication=replication))


@app.command()
def check(
    broker: Broker = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many the turn topics should have. Without it: as many as the topic of requests has; "
            "TURNGATE_PARTITIONS where there is no such topic.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is missing or laid out wrongly; exits 1 if anything is."""
    from streams.cli.work.topics import check as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(partitions, as_json=as_json, broker=broker))


@app.command("list")
def list_(broker: Broker = None, as_json: Json = False) -> None:
    """Show the pipeline's topics as they are on the broker."""
    from streams.cli.work.topics import list_topics  # noqa: PLC0415 - see the package's text

    raise typer.Exit(list_topics(as_json=as_json, broker=broker))


@app.command()
def drain(
    wait: Annotated[bool, typer.Option("--wait", help="Wait until nothing is left, and say how many are.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Wait for no longer than this; then exit 1.")
    ] = None,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Say how many turns are still open, and how many requests wait; exits 1 if any are.

    For a prefix that nobody submits to any more. Reads requests and the turns' journal, as turn workers may do.
    """
    from streams.cli.work.drain import drain as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(wait=wait, timeout_s=timeout, as_json=as_json, broker=broker))


@app.command()
def acls(
    role: Annotated[list[AclRole] | None, typer.Option(help="Only this role; may be given several times.")] = None,
    principal: Annotated[
        str, typer.Option(help="Who gets it; {role} stands for the role's name.")
    ] = "User:turngate-{role}",
    replays: Annotated[
        bool, typer.Option(help="Let the operator send dead letters' records again, and see them.")
    ] = True,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Print the least that each role must be allowed on the cluster, as kafka-acls commands. Changes nothing.

    callers submit turns and follow them, as the gateway does; readers only follow.
    """
    from streams.cli.work.topics import acls as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(
        work([one.value for one in role or AclRole], principal, replays=replays, as_json=as_json, broker=broker)
    )


@app.command()
def schemas(
    format_: Annotated[
        SchemaFormat, typer.Option("--format", help="JSON Schema (draft 2020-12), or one AsyncAPI 3 document.")
    ] = SchemaFormat.JSON_SCHEMA,
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="All that is on this topic, and no other.")] = None,
    record: Annotated[str | None, typer.Option(metavar="NAME", help="This record alone, e.g. TurnRequest.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", file_okay=False, help="Write files: a schema for each topic, or the document."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the shape of every record on every topic. Needs no broker."""
    from streams.cli.work.schemas import schemas as work  # noqa: PLC0415 - see the package's text

    raise typer.Exit(work(format_.value, topic=topic, record=record, out=out, as_json=as_json))
