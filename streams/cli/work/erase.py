"""Erase everything about a thread, or about the threads a user spoke in, and say what remains elsewhere until when.

Three steps: write down who wants what, with the id hashed; have the partitions' owners do it, and hear from them; tell what
is left on topics that only time clears. Whoever dies in between, the command can be repeated: it finds less to do.
"""

from __future__ import annotations

import asyncio
import getpass
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.private_ids import hashed, hashed_user
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.erasing import Erasing, Patience
from topics.names import JournalRole, Names
from topics.records import AuditRecord, Erase, Erased
from topics.remains import Remnant, remnants

FORCE = (
    "Sooner: shorten retention.ms and segment.ms of a topic for a while, or on a journal max.compaction.lag.ms, "
    "segment.ms and min.cleanable.dirty.ratio. docs/security.md tells how, and what that costs."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be erased: of `tenant` either a `thread` or what a `user` said. `by` is who asks."""

    tenant: str
    thread: str | None = None
    user: str | None = None
    cancel_open: bool = False
    by: str | None = None
    wait_s: float = 30.0


@dataclass(slots=True)
class Outcome:
    """What was heard: from how many partitions' owners out of `wanted`, and from which runners out of `runners`."""

    wanted: int
    runners: Sequence[JournalRole]
    answers: list[Erased] = field(default_factory=list)

    def of(self, role: JournalRole) -> list[Erased]:
        """Return the answers of one role."""
        return [one for one in self.answers if one.role == role]

    @property
    def refused(self) -> list[Erased]:
        """The answers of those that did nothing."""
        return [one for one in self.answers if one.refused]

    @property
    def silent(self) -> int:
        """How many partitions have said nothing."""
        return self.wanted - len({one.partition for one in self.of("turns")})

    def count(self, what: str) -> int:
        """Return the sum of a count over all answers that something was done."""
        return sum(getattr(one, what) for one in self.answers if not one.refused)


def erase(asked: Asked, *, as_json: bool, broker: str | None) -> int:
    """Erase, print what went and what remains, and return the exit status: 1 unless every partition did it.

    Raises:
        CommandError: neither a thread nor a user is named, or both, or none can have this name.
        TopicLayoutError: there is no pipeline on this broker.
        BrokerUnreachableError: nobody answers.
    """
    settings = session.begin({"broker": broker})
    wish, connection = _wish(asked), session.connect(settings)
    outcome, left = asyncio.run(_erase(wish, asked, *connection, salt=session.salt_of(settings)))
    if as_json:
        _print_json(wish, outcome, left)
    else:
        _print(asked, outcome, left)
    return FAILED if outcome.refused or outcome.silent else OK


def hash_id(asked: Asked, turn: str | None, *, as_json: bool) -> int:
    """Print how logs and the audit trail name a thread, a turn or a user, and return the exit status."""
    salt = session.salt_of(session.begin())
    if (asked.thread is None) == (asked.user is None):
        raise CommandError("say either --thread or --user")
    told = {"thread": hashed(f"{asked.tenant}/{asked.thread}", salt)} if asked.thread is not None else {}
    if turn is not None and asked.thread is not None:
        told["turn"] = hashed(f"{asked.tenant}/{asked.thread}/{turn}", salt)
    if asked.user is not None:
        told["user"] = hashed_user(asked.tenant, asked.user, salt)
    if as_json:
        output.json_line(told)
    else:
        output.line("/".join(told.values()))
    return OK


def _wish(asked: Asked) -> Erase:
    if (asked.thread is None) == (asked.user is None):
        raise CommandError("say what to erase: either --thread or --user")
    try:
        return Erase(
            id=uuid.uuid4().hex,
            tenant=asked.tenant,
            thread_id=asked.thread,
            user_id=asked.user,
            cancel_open=asked.cancel_open,
            by=asked.by or f"{getpass.getuser()}@{socket.gethostname()}",
            at=round(time.time(), 3),
        )
    except ValidationError:
        raise CommandError("a tenant or thread has 1 to 200 characters, none of them a slash or a control") from None


async def _erase(
    wish: Erase, asked: Asked, connection: Connection, topic_names: Names, *, salt: str
) -> tuple[Outcome, list[Remnant]]:
    admin = TopicAdmin(connection, topic_names)
    erasing = Erasing(connection, topic_names, await admin.require())
    outcome = Outcome(len(erasing.partitions_of(wish)), await erasing.runner_roles())
    await erasing.audit(_audited(wish, "erase", salt, {"cancel_open": wish.cancel_open}))
    patience = Patience(turns_s=asked.wait_s)
    with _progress(outcome.wanted) as step:
        more = True
        while more:
            more = False
            async for answer in erasing.erase(wish, outcome.runners, patience):
                outcome.answers.append(answer)
                more = more or (answer.more and not answer.refused)
                if answer.role == "turns":
                    step()
            # A partition had more than it could name at once: it is asked again, as the others are, which have nothing left.
            wish = wish.model_copy(update={"id": uuid.uuid4().hex}) if more else wish
    counts = {what: outcome.count(what) for what in ("turns", "open", "remembered", "calls")}
    told = {**counts, "refused": len(outcome.refused), "silent": outcome.silent}
    await erasing.audit(_audited(wish, "erased", salt, told, at=round(time.time(), 3)))
    return outcome, remnants(topic_names, await admin.describe(), time.time())


def _audited(wish: Erase, action: str, salt: str, told: Mapping[str, object], at: float | None = None) -> AuditRecord:
    """Return what the audit trail says: who, when, how much, and of whom only a hash."""
    if wish.thread_id is not None:
        key = f"thread/{hashed(f'{wish.tenant}/{wish.thread_id}', salt)}"
    else:
        key = f"user/{hashed_user(wish.tenant, wish.user_id or '', salt)}"
    return AuditRecord(action=action, key=key, record=dict(told), by=wish.by, at=wish.at if at is None else at)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Draw on stderr how many partitions have answered, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    columns = (TextColumn("partitions"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("partitions", total=total)
        yield lambda: drawn.advance(task)


def _rows(outcome: Outcome) -> list[tuple[str, str, int]]:
    """Return what was tombstoned: in whose journal, what, and how much of it."""
    rows = [
        ("turns", "turns", outcome.count("turns")),
        ("turns", "turns that threads remembered", outcome.count("remembered")),
    ]
    names: dict[JournalRole, str] = {"models": "model calls", "tools": "tool calls"}
    rows += [(role, names[role], sum(one.calls for one in outcome.of(role))) for role in outcome.runners]
    return rows


def _print(asked: Asked, outcome: Outcome, left: list[Remnant]) -> None:
    rows = _rows(outcome)
    output.table(("journal of", "erased", "count"), rows)
    if not (outcome.refused or outcome.silent or any(count for _, _, count in rows)):
        whom = "thread" if asked.thread is not None else "user"
        output.note(f"Nothing of this {whom} was there in tenant {asked.tenant!r}: are its id and --tenant right?")
    if cancelled := outcome.count("open"):
        output.note(f"{output.count(cancelled, 'open turn')} cancelled: what they wrote goes when their end is out.")
    output.line()
    output.table(
        ("what remains on", "is", "kept for", "gone by"),
        [(one.topic, one.holds, _kept(one), _date(one.until)) for one in left],
    )
    output.note(FORCE)
    _complain(outcome)


def _complain(outcome: Outcome) -> None:
    if outcome.refused:
        count = output.count(sum(one.open for one in outcome.refused), "turn")
        output.note(f"NOT ERASED: {count} still open there. Wait for the end, or say --cancel-open.")
    if outcome.silent:
        output.note(
            f"NOT CONFIRMED: the owners of {output.count(outcome.silent, 'partition')} did not answer. Are turn workers "
            "running? They will do it when they come to it, within a day; then repeat this command to see that it is done."
        )
    asked = {one.partition for one in outcome.of("turns") if one.threads}
    for role in outcome.runners:
        if silent := len(asked - {one.partition for one in outcome.of(role)}):
            output.note(
                f"No {role} runner answered for {output.count(silent, 'partition')}. Its journal names calls, not what "
                "was said, until it comes to it, or forgets them an hour after turns may last."
            )


def _print_json(wish: Erase, outcome: Outcome, left: list[Remnant]) -> None:
    for journal, what, count in _rows(outcome):
        output.json_line({"erased": what, "journal": journal, "count": count})
    for one in left:
        output.json_line({"remains": one.topic, "holds": one.holds, "kept_s": one.kept_s, "until": one.until})
    output.json_line(
        {
            "id": wish.id,
            "partitions": outcome.wanted,
            "silent": outcome.silent,
            "refused": len(outcome.refused),
            "open": sum(one.open for one in outcome.answers),
            "runners": sorted({one.role for one in outcome.answers} - {"turns"}),
        }
    )


def _kept(one: Remnant) -> str:
    return f"{one.kept_s / 86_400:g} d" if one.kept_s is not None else "compacted"


def _date(until: float | None) -> str:
    if until is None:
        return "no limit"
    return datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M UTC")
