"""Create, check and list the pipeline's topics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from streams.cli import output, session
from streams.cli.failures import FAILED, OK
from streams.settings import EMBEDDED
from topics.acls import ACL_ROLES, grants
from topics.admin import TopicAdmin, TopicRow
from topics.errors import TopicLayoutError
from topics.layout import CORRECTABLE, Finding
from topics.names import Names


def create(*, as_json: bool, **overrides: str | int | None) -> int:
    """Create what is missing, print each topic, and return the exit status.

    Raises:
        TopicLayoutError: topics are there with another layout, or the broker refused some.
        BrokerUnreachableError: nobody answers.
    """
    settings = session.begin(overrides)
    admin = TopicAdmin(*session.connect(settings), retention_s=settings.retention_s)
    done = asyncio.run(admin.create(settings.partitions, settings.replication))
    if as_json:
        for name in (*done.created, *done.there):
            output.json_line({"topic": name, "created": name in done.created, "corrected": name in done.corrected})
    else:
        for name in done.created:
            output.line(f"created {name}")
        for name in done.corrected:
            output.line(f"corrected {name}")
        output.line(f"{output.count(len(done.created), 'topic')} created, {len(done.there)} were there already.")
    return OK


def check(partitions: int | None, *, as_json: bool, broker: str | None) -> int:
    """Print what is missing or wrong, and return the exit status.

    Raises:
        BrokerUnreachableError: nobody answers.
    """
    settings = session.begin({"broker": broker})
    admin = TopicAdmin(*session.connect(settings), retention_s=settings.retention_s)
    found = asyncio.run(_check(admin, partitions, settings.partitions))
    for finding in found:
        if as_json:
            row = {"topic": finding.topic, "finding": finding.kind, "is": finding.is_, "wanted": finding.wanted}
            output.json_line(row)
        else:
            output.line(str(finding))
    if not found:
        output.note(f"All topics of the prefix {settings.prefix!r} are there and right.")
    elif all(finding.kind in CORRECTABLE | {"missing"} for finding in found):
        output.note("Run `turngate topics create`.")
    return FAILED if found else OK


def list_topics(*, as_json: bool, broker: str | None) -> int:
    """Print the pipeline's topics, and return the exit status.

    Raises:
        BrokerUnreachableError: nobody answers.
    """
    settings = session.begin({"broker": broker})
    rows = asyncio.run(TopicAdmin(*session.connect(settings)).list())
    if as_json:
        for row in rows:
            output.json_line(
                {
                    "topic": row.name,
                    "partitions": row.partitions,
                    "cleanup": row.cleanup,
                    "retention_s": row.retention_s,
                    "records": row.records,
                }
            )
    elif rows:
        output.table(("topic", "partitions", "cleanup", "kept for", "records"), [_cells(row) for row in rows])
    if not rows:
        output.note(f"No topics with the prefix {settings.prefix!r}: run `turngate topics create`.")
    return OK


def acls(roles: Sequence[str], principal: str, *, replays: bool, as_json: bool, broker: str | None) -> int:
    """Print what each of `roles` must be allowed, and return the exit status; no broker is asked."""
    settings = session.begin({"broker": broker})
    bootstrap = "localhost:9092" if settings.broker == EMBEDDED else settings.broker
    for role in (one for one in ACL_ROLES if one in roles):
        who = principal.replace("{role}", role)
        for grant in grants(role, Names(settings.prefix), replays=replays):
            if as_json:
                output.json_line({"principal": who} | asdict(grant))
            else:
                output.line(grant.command(bootstrap, who))
    return OK


async def _check(admin: TopicAdmin, partitions: int | None, usual: int) -> list[Finding]:
    try:
        return await admin.check(partitions)
    except TopicLayoutError:  # nothing there to take the count from: then everything is missing
        return await admin.check(usual)


def _cells(row: TopicRow) -> tuple[object, ...]:
    kept = "" if row.retention_s is None else f"{row.retention_s / 86_400:g} d"
    return (row.name, row.partitions, row.cleanup or "", kept, row.records)
