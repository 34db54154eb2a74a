"""Look at threads as the turn workers' journal remembers them. Reads only, and needs no worker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError

from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.gate.transcript import Entry
from streams.journal.replay import Replay
from streams.turns.threads import entries_of, is_thread
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.content import Message, TextPart
from topics.ids import ThreadKey
from topics.names import Names
from topics.records import CancelTurn
from topics.snapshots import to_the_end


@dataclass(frozen=True, slots=True)
class _Remembered:
    thread: ThreadKey
    entries: Sequence[Entry]


def list_threads(*, as_json: bool, broker: str | None) -> int:
    """Print which threads are remembered, the one that spoke last at the end, and return the exit status.

    Raises:
        TopicLayoutError: there is no pipeline on this broker.
        BrokerUnreachableError: nobody answers.
    """
    connection, names = session.connect(session.begin({"broker": broker}))
    found = sorted(asyncio.run(_threads(connection, names)), key=lambda one: one.entries[-1].at)
    for one in found if as_json else ():
        last = one.entries[-1]
        output.json_line({**one.thread._asdict(), "turns": len(one.entries), "last_at": last.at, "agent": last.agent})
    if found and not as_json:
        output.table(
            ("tenant", "thread", "turns", "last turn", "agent"),
            [(*one.thread, str(len(one.entries)), _time(one.entries[-1].at), one.entries[-1].agent) for one in found],
        )
    if not found:
        output.note("No thread is remembered.")
    return OK


def show_thread(thread_id: str, tenant: str, *, as_json: bool, broker: str | None) -> int:
    """Print what one thread remembers, and return the exit status: 1 if nothing.

    Raises:
        CommandError: no thread can have this name.
        TopicLayoutError: there is no pipeline on this broker.
        BrokerUnreachableError: nobody answers.
    """
    connection, names = session.connect(session.begin({"broker": broker}))
    try:
        CancelTurn(tenant=tenant, thread_id=thread_id, turn_id="any")
    except ValidationError:
        raise CommandError("a tenant or thread has 1 to 200 characters, none of them a slash or a control") from None
    entries = asyncio.run(_thread(connection, names, ThreadKey(tenant, thread_id)))
    for entry in entries:
        if as_json:
            output.json_line(_fields(entry))
        else:
            _print(entry)
    if not entries:
        output.note("Nothing is remembered of this thread. `turngate threads list` shows those there are.")
    return OK if entries else FAILED


async def _threads(connection: Connection, names: Names) -> list[_Remembered]:
    partitions = await TopicAdmin(connection, names).require()
    found: list[_Remembered] = []
    for partition in range(partitions):
        rows = (await _replay(connection, names, partition)).rows
        for subject in filter(is_thread, rows):
            thread = ThreadKey(*subject.split("/"))
            if entries := entries_of(rows, thread):
                found.append(_Remembered(thread, entries))
    return found


async def _thread(connection: Connection, names: Names, thread: ThreadKey) -> Sequence[Entry]:
    partitions = await TopicAdmin(connection, names).require()
    replay = await _replay(connection, names, thread.partition(partitions))
    return entries_of(replay.rows, thread)


async def _replay(connection: Connection, names: Names, partition: int) -> Replay:
    from aiokafka import TopicPartition  # noqa: PLC0415 - takes a while to import

    replay = Replay()
    async with connection.consumer() as consumer:
        async for record in to_the_end(connection, consumer, [TopicPartition(names.journal("turns"), partition)]):
            replay.apply(record.offset, record.key, record.value)
    return replay


def _fields(entry: Entry) -> dict[str, object]:
    messages = [message.model_dump(mode="json", exclude_defaults=True) for message in entry.messages]
    return {
        "turn_id": entry.turn_id,
        "at": entry.at,
        "outcome": entry.outcome,
        "agent": entry.agent,
        "messages": messages,
    }


def _print(entry: Entry) -> None:
    output.line(f"-- turn {entry.turn_id}, {_time(entry.at)}, agent {entry.agent}: {entry.outcome}")
    for message in entry.messages:
        if (said := _said(message)) or not message.tool_calls:
            output.line(f"{message.role}: {said}")
        for call in message.tool_calls:
            output.line(f"{message.role} calls {call.name}({call.arguments}) as {call.id}")


def _said(message: Message) -> str:
    content = message.content
    if content is None or isinstance(content, str):
        return content or ""
    return " ".join(part.text if isinstance(part, TextPart) else f"[{part.type}]" for part in content)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
