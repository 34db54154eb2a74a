"""What is deployed, and how far the workers are; and everything that was done, for auditors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from aiokafka import TopicPartition

from processors.board import Board
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.cli.work.deploy import Asked, office
from streams.deployments.registry import Seen
from topics import codec, names
from topics.admin import TopicAdmin
from topics.errors import WireError
from topics.records import Deployment, ProcessorVersion, WorkerStatus
from topics.snapshots import to_the_end


def show_all(asked: Asked) -> int:
    """Print every processor and every live worker; return the exit status, which says whether they have converged."""

    async def look() -> Seen:
        async with office(asked) as at:
            return at.seen

    seen = asyncio.run(look())
    rows = _processors(seen)
    workers = [_worker(seen, one) for one in seen.workers]
    converged = all(row["converged"] for row in workers)
    if asked.as_json:
        for row in (*rows, *workers):
            output.json_line(row)
        output.json_line({"converged": converged, "workers": len(workers), "offset": seen.board.offset})
        return OK if converged else FAILED
    if rows:
        _table(rows, "kind", "name", "version", "active", "from", "shadow", "tenants", "pushed")
    else:
        output.note("No processor is deployed, and no live worker runs one.")
    output.line()
    if workers:
        _table(workers, "worker", "role", "chain", "offset", "converged", "refused")
    else:
        output.note("No worker is alive.")
    return OK if converged else FAILED


def show_one(name: str, asked: Asked) -> int:
    """Print the versions of one processor and what is chosen of them, and return the exit status.

    Raises:
        DeploymentError: there is no such processor.
    """

    async def look() -> tuple[Seen, str]:
        async with office(asked) as at:
            return at.seen, at.processor(name)

    seen, processor = asyncio.run(look())
    choice = seen.board.choices.get(processor)
    rows = [_version(one, choice) for one in seen.board.versions_of(processor)]
    chosen = choice.model_dump(mode="json", exclude_none=True) if choice is not None else None
    if asked.as_json:
        for row in rows:
            output.json_line(row)
        output.json_line({"processor": processor, "deployment": chosen})
        return OK
    output.line(processor)
    if rows:
        _table(rows, "version", "digest", "chosen", "config", "by", "at")
    if choice is None:
        output.line("Nothing is deployed: what the Deps declares is what runs.")
    else:
        earlier = ", ".join(one or "as declared" for one in reversed(choice.previous))
        output.line(f"Chosen by {choice.by} at {_when(choice.at)}." + (f" Before that: {earlier}." if earlier else ""))
    return OK


def export(since: str | None, until: str | None, asked: Asked) -> int:
    """Print what was done to the deployments and what processors decided, in order of time; return the exit status.

    Raises:
        CommandError: a time cannot be read.
    """
    first, last = _time(since, "--from", 0.0), _time(until, "--to", time.time())
    settings = session.begin({"broker": asked.broker})
    connection, topic_names = session.connect(settings)

    async def read() -> list[dict[str, Any]]:
        partitions = await TopicAdmin(connection, topic_names).require()
        found = []
        async with connection.consumer() as consumer:
            places = [TopicPartition(topic_names.topic(names.AUDIT), 0)]
            places += [TopicPartition(topic_names.topic(names.DECISIONS), number) for number in range(partitions)]
            async for one in to_the_end(connection, consumer, places):
                topic = names.BY_NAME[topic_names.short(one.topic)]
                try:
                    record = codec.decode(one.value, topic.shape)
                except WireError as error:
                    place = {"topic": one.topic, "partition": one.partition, "offset": one.offset}
                    found.append(
                        {"of": topic.name, **place, "unreadable": type(error).__name__, "at": one.timestamp / 1000}
                    )
                    continue
                # The processors' own words may tell what was hidden.
                told = record.model_dump(mode="json", exclude_none=True, exclude={"v", "reason", "metadata"})
                found.append({"of": topic.name, **told})
        return found

    rows = [row for row in asyncio.run(read()) if first <= row["at"] <= last]
    for row in sorted(rows, key=lambda row: row["at"]):
        if asked.as_json:
            output.json_line(row)
        else:
            output.line(f"{_when(row['at'])}  {_sentence(row)}")
    output.note(f"{output.count(len(rows), 'record')}.")
    return OK


def _sentence(row: dict[str, Any]) -> str:
    if "unreadable" in row:
        return f"a record of {row['topic']}[{row['partition']}]@{row['offset']} cannot be read: {row['unreadable']}"
    if row["of"] == names.AUDIT.name:
        return f"{row['by']}: {row['action']} {row['key']}{_chosen(row.get('record') or {})}"
    turn = f"{row['tenant']}/{row['thread_id']}/{row['turn_id']}"
    what = f"{row['phase']} {row['processor']}@{row['version']}: {row['verdict']}"
    return f"{what}, {output.count(row['changes'], 'change')}{' (shadow)' if row.get('shadow') else ''}, in {turn}"


def _chosen(record: dict[str, Any]) -> str:
    members = record.get("members", [record])
    told = [f"{one['kind']}/{one['name']}@{one['version']}" for one in members if "version" in one]
    return f" ({', '.join(told)})" if told else ""


def _processors(seen: Seen) -> list[dict[str, Any]]:
    running = next((worker.active for worker in seen.turn_workers), ())
    active = {ref.partition("#")[0].rpartition("@")[0]: ref for ref in running}
    board = seen.board
    known = dict.fromkeys([*active, *board.choices, *(one.processor for one in board.versions.values())])
    return [_processor(board, name, active.get(name)) for name in known]


def _processor(board: Board, processor: str, running: str | None) -> dict[str, Any]:
    choice = board.choices.get(processor)
    kind, _, name = processor.partition("/")
    version, _, digest = running.rpartition("@")[2].partition("#") if running is not None else (None, "", None)
    chosen = choice is not None and choice.version is not None
    return {
        "kind": kind,
        "name": name,
        "version": choice.version if choice is not None and chosen else version,
        "digest": choice.digest if choice is not None and chosen else digest,
        "active": choice.active if choice is not None and (chosen or not choice.active) else running is not None,
        "from": "deployment" if chosen else ("deps" if running is not None else None),
        "shadow": choice.shadow if choice is not None else None,
        "tenants": list(choice.tenants) if choice is not None and choice.tenants is not None else None,
        "pushed": [one.version for one in board.versions_of(processor)],
    }


def _worker(seen: Seen, worker: WorkerStatus) -> dict[str, Any]:
    return {
        "worker": worker.worker,
        "role": worker.role,
        "chain": worker.chain,
        "offset": worker.offset,
        "converged": seen.converged(worker),
        "refused": worker.refused,
        "active": list(worker.active),
        "available": list(worker.available),
        "seen_at": worker.seen_at,
    }


def _version(one: ProcessorVersion, choice: Deployment | None) -> dict[str, Any]:
    words = {"kind": one.kind, "name": one.name, "version": one.version, "code": one.code, "digest": one.digest}
    chosen = choice is not None and choice.version == one.version and choice.active
    shadowing = choice is not None and choice.shadow == one.version
    state = "active" if chosen else "shadow" if shadowing else None
    return {**words, "config": one.config, "chosen": state, "by": one.by, "at": one.at}


def _table(rows: Sequence[dict[str, Any]], *columns: str) -> None:
    output.table(columns, [[_cell(row[column]) for column in columns] for row in rows])


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return _when(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _time(given: str | None, option: str, otherwise: float) -> float:
    if given is None:
        return otherwise
    try:
        at = datetime.fromisoformat(given)
    except ValueError:
        raise CommandError(
            f"{option}: write a date or a time as in ISO 8601, e.g. 2026-02-01 or 2026-02-01T08:30Z"
        ) from None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
