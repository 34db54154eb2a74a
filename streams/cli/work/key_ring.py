"""Make keys, choose the one to seal with, and tell which of them are in use."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from topics import envelope
from topics.connection import Connection
from topics.key_ring import ACTIVE_FILE, KeyRing
from topics.key_use import TopicUse, key_use
from topics.names import Names

_NO_FOLDER = "name the folder of keys with --folder or TURNGATE_KEY_RING"


def add(key: str, folder: str | None, *, activate: bool, as_json: bool) -> int:
    """Write a new key into the folder of keys, which is made if it is not there, and return the exit status.

    Raises:
        CommandError: the id cannot be used or is taken, or the folder cannot be written.
    """
    place = _folder(folder)
    if not envelope.KEY_ID.fullmatch(key) or key == ACTIVE_FILE:
        raise CommandError(
            f"KEY: write 1 to 64 of the characters A-Z a-z 0-9 . _ - that begin with a letter or digit, and not "
            f"{ACTIVE_FILE}"
        )
    secret = base64.b64encode(os.urandom(envelope.KEY_BYTES)).decode()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        first = not any(one.is_file() for one in place.iterdir())
        (place / key).touch(mode=0o600, exist_ok=False)
        (place / key).write_text(secret + "\n", encoding="ascii")
        if first or activate:
            _activate(place, key)
    except FileExistsError:
        raise CommandError(f"there is a key {key} in {place}: give the new one another id") from None
    except OSError as error:
        raise CommandError(f"cannot write to {place}: {error.strerror}") from None
    if as_json:
        output.json_line({"key": key, "folder": str(place), "active": first or activate})
    else:
        output.line(f"{key} is in {place}{', and is sealed with from now on' if first or activate else ''}.")
        output.note("Keep a copy where it is safe: what is sealed with it can be read with nothing else.")
    return OK


def activate(key: str, folder: str | None, *, as_json: bool) -> int:
    """Have the folder of keys say that `key` is the one to seal with, and return the exit status.

    Raises:
        KeyRingError: it is not there, or the folder cannot be read.
        CommandError: the folder cannot be written.
    """
    place = _folder(folder)
    KeyRing.read(place, key)
    try:
        _activate(place, key)
    except OSError as error:
        raise CommandError(f"cannot write to {place}: {error.strerror}") from None
    if as_json:
        output.json_line({"key": key, "folder": str(place), "active": True})
    else:
        output.line(f"Processes that start from now on seal with {key}.")
    return OK


def status(*, as_json: bool, broker: str | None) -> int:
    """Print which keys are in use on which topic, and return the exit status.

    Raises:
        BrokerUnreachableError: nobody answers, or the topics may not be read.
    """
    settings = session.begin({"broker": broker})
    connection, names = session.connect(settings)
    ring = connection.sealing.ring
    found = asyncio.run(_uses(connection, names, ring))
    keys = ring.keys if ring is not None else {}
    missing = sorted(
        {key for one in found for key in (*one.sealed, *one.foreign) if key not in keys or one.foreign.get(key)}
    )
    unused = sorted(key for key in keys if ring is not None and key != ring.active.id and not _count(found, key))
    rows = [row for one in found for row in _rows(one)]
    if as_json:
        for topic, key, records, foreign, last in rows:
            output.json_line({"topic": topic, "key": key, "records": records, "foreign": foreign, "last": last})
        active = ring.active.id if ring is not None else None
        plain = sum(one.plain for one in found)
        output.json_line({"active": active, "unused": unused, "missing": missing, "plain": plain})
        return FAILED if missing else OK
    output.table(
        ("topic", "key", "records", "last written"),
        [(topic, key or "not sealed", records, _when(last)) for topic, key, records, _, last in rows],
    )
    if ring is not None:
        output.line(
            f"New records are sealed with {ring.active.id}." if connection.sealing.seals else "Nothing is sealed yet."
        )
    for key in unused:
        output.line(f"No record is sealed with {key}: it may be taken away.")
    for key in missing:
        why = "the ring has another key of that id" if key in keys else "it is not in the ring"
        output.line(f"Records are sealed with {key}, and {why}.")
    return FAILED if missing else OK


async def _uses(connection: Connection, names: Names, ring: KeyRing | None) -> list[TopicUse]:
    found = []
    async for one in key_use(connection, names, ring):
        if sys.stderr.isatty():
            output.note(f"{one.topic} is read.")
        found.append(one)
    return found


def _rows(use: TopicUse) -> list[tuple[str, str | None, int, int, float | None]]:
    rows: list[tuple[str, str | None, int, int, float | None]] = [
        (use.topic, key, records, use.foreign.get(key, 0), use.until.get(key))
        for key, records in sorted(use.sealed.items())
    ]
    return [*rows, (use.topic, None, use.plain, 0, None)] if use.plain else rows


def _count(found: Sequence[TopicUse], key: str) -> int:
    return sum(one.sealed.get(key, 0) for one in found)


def _when(last: float | None) -> str:
    return "" if last is None else datetime.fromtimestamp(last, UTC).isoformat(sep=" ", timespec="minutes")


def _folder(folder: str | None) -> Path:
    settings = session.begin({"key_ring": folder})
    if settings.key_ring is None:
        raise CommandError(_NO_FOLDER)
    return Path(settings.key_ring)


def _activate(place: Path, key: str) -> None:
    """Write the active key's id beside the file and put it in its place: a reader sees the one or the other."""
    beside = place / f".{ACTIVE_FILE}"
    beside.write_text(key + "\n", encoding="ascii")
    beside.replace(place / ACTIVE_FILE)
