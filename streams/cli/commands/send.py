"""`turngate send`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from streams.cli.options import Broker, Json, Tenant


class Delivery(StrEnum):
    """What readers see of a turn."""

    STREAM = "stream"
    FINAL = "final"


def send(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The user's message; `-` reads it from stdin.")],
    *,
    thread: Annotated[str | None, typer.Option(help="The conversation; without it, a new one.")] = None,
    agent: Annotated[str | None, typer.Option(help="Who is asked.")] = None,
    channel: Annotated[str | None, typer.Option(help="Where it was said, e.g. web or voice.")] = None,
    tenant: Tenant = "default",
    user: Annotated[str | None, typer.Option(help="The id of who speaks.")] = None,
    delivery: Annotated[Delivery, typer.Option(help="final: the reader sees only the ending.")] = Delivery.STREAM,
    model: Annotated[str | None, typer.Option(help="Which model answers.")] = None,
    system: Annotated[str | None, typer.Option(help="The system prompt.")] = None,
    params: Annotated[str | None, typer.Option(metavar="JSON", help="Parameters for the model, an object.")] = None,
    script: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|JSON",
            help="The model's answer, where the operator allows that: a list, or JSON Lines, of texts and frames.",
        ),
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="The longest the turn may take.", min=0.001)
    ] = None,
    follow: Annotated[bool, typer.Option(help="Wait for the answer.")] = True,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Give up when nothing was released for so long.", min=0.001)
    ] = 120.0,
    broker: Broker = None,
    as_json: Json = False,
) -> None:
    """Publish a turn and print what is released of it, as it comes.

    With --json each released frame is a line; with --no-follow, the turn's ids. Exits 0 only if the turn completed: 1
    if it was blocked, rejected, cancelled, failed, or nothing came in time.
    """
    from streams.cli.work.send import Follow, send_turn  # noqa: PLC0415 - see the package's text

    fields = {
        "thread_id": thread,
        "agent": agent,
        "channel": channel,
        "tenant": tenant,
        "user": {"id": user} if user is not None else None,
        "delivery": delivery.value,
        "model": model,
        "system": system,
        "deadline_s": deadline,
    }
    wish = Follow(follow=follow, timeout_s=timeout, as_json=as_json)
    raise typer.Exit(send_turn(text, fields, wish, params=params, script=script, broker=broker))
