"""Versions of processors: pushed, chosen, switched, deleted. Each operation in three steps: look, check, write.

A change of what runs is then waited for. If a live worker refuses it, what was chosen before is written back: a worker that
starts later would refuse to start with it.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processors import deploying
from processors.board import Board, Choice, Plan, key_of, plan_of, spelt
from processors.deploying import Signed
from processors.errors import DeploymentError
from streams.chains import ProcessChainRunner
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.deployments.registry import Registry, Seen, has_code
from streams.settings import Settings
from topics.records import Deployment, ProcessorVersion, Promotion, WorkerStatus

#: How long a change is waited for, in seconds, until every live worker has said what became of it.
CONVERGE_S = 20.0
_POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class Asked:
    """What all operations are told: where, by whom, and how to answer."""

    broker: str | None = None
    deps: str | None = None
    by: str | None = None
    as_json: bool = False
    wait: bool = True


@dataclass(slots=True)
class Office:
    """What an operation works with."""

    asked: Asked
    settings: Settings
    registry: Registry
    seen: Seen

    @property
    def board(self) -> Board:
        """What is deployed."""
        return self.seen.board

    def signed(self) -> Signed:
        """Return who does it, and now."""
        return Signed(self.asked.by or f"{getpass.getuser()}@{socket.gethostname()}", round(time.time(), 3))

    def processor(self, name: str) -> str:
        """Return the `kind/name` that a name means."""
        listed = [one for worker in self.seen.workers for one in (*worker.available, *worker.active)]
        return deploying.processor_called(self.board, listed, name)

    def version(self, given: str) -> ProcessorVersion:
        """Return the pushed version that `NAME@VERSION` means."""
        name, _, version = given.rpartition("@")
        if not name:
            raise CommandError(
                f"{given}: say which version, as {given}@VERSION; `turngate processors show {given}` lists them"
            )
        return deploying.pushed(self.board, self.processor(name), version)


@asynccontextmanager
async def office(asked: Asked) -> AsyncIterator[Office]:
    """Look at what is there.

    Raises:
        BrokerUnreachableError: nobody answers.
        TopicLayoutError: there is no topic for it.
    """
    settings = session.begin({"broker": asked.broker, "deps": asked.deps})
    connection, topic_names = session.connect(settings)
    from topics.admin import TopicAdmin  # noqa: PLC0415 - Kafka's client takes a while to import

    await TopicAdmin(connection, topic_names).require()
    registry = Registry(connection, topic_names, time.time)
    yield Office(asked, settings, registry, await registry.read())


def push(given: str, config: str | None, asked: Asked) -> int:
    """Record a version: the code that is called `given` here, `NAME` or `NAME@VERSION`, with a configuration.

    Raises:
        DeploymentError: there is no such code, or the configuration is not what it takes.
    """

    async def run() -> ProcessorVersion:
        async with office(asked) as at:
            version = await _made_here(at, given, parsed(config))
            await at.registry.write("push", version)
            return version

    version = asyncio.run(run())
    _say(asked, "push", version, f"pushed {version.processor}@{version.version}, digest {version.digest}")
    return OK


def deploy(given: str, asked: Asked, **scope: Any) -> int:
    """Choose a pushed version, and return the exit status.

    Raises:
        DeploymentError: there is no such version, or it may not be chosen so.
    """

    async def run() -> int:
        async with office(asked) as at:
            version = at.version(given)
            _check_code(at, [version])
            return await _change(at, "deploy", deploying.deploy(at.board, version, at.signed(), **scope))

    return asyncio.run(run())


def promote(given: Sequence[str], asked: Asked) -> int:
    """Choose several pushed versions at once, and return the exit status."""

    async def run() -> int:
        async with office(asked) as at:
            versions = [at.version(one) for one in given]
            _check_code(at, versions)
            return await _change(at, "promote", deploying.promote(at.board, versions, at.signed()))

    return asyncio.run(run())


def roll_back(name: str, asked: Asked) -> int:
    """Choose what was chosen before, and return the exit status."""

    async def run() -> int:
        async with office(asked) as at:
            processor = at.processor(name)
            choice = deploying.roll_back(at.board, processor, at.signed())
            if choice.version is not None:
                _check_code(at, [deploying.pushed(at.board, processor, choice.version)])
            return await _change(at, "rollback", choice)

    return asyncio.run(run())


def switch(name: str, asked: Asked, *, active: bool) -> int:
    """Switch a processor on or off for everybody, and return the exit status."""

    async def run() -> int:
        async with office(asked) as at:
            choice = deploying.switch(at.board, at.processor(name), at.signed(), active=active)
            return await _change(at, "activate" if active else "deactivate", choice)

    return asyncio.run(run())


def shadow(given: str, asked: Asked, *, off: bool) -> int:
    """Have a version run beside what is active, or end that; return the exit status."""

    async def run() -> int:
        async with office(asked) as at:
            if off:
                return await _change(at, "shadow off", deploying.unshadow(at.board, at.processor(given), at.signed()))
            version = at.version(given)
            _check_code(at, [version])
            return await _change(at, "shadow", deploying.shadow(at.board, version, at.signed()))

    return asyncio.run(run())


def delete(given: str, asked: Asked) -> int:
    """Forget a version, or with a name alone what is chosen; return the exit status."""

    async def run() -> int:
        async with office(asked) as at:
            if "@" not in given:
                return await _change(at, "delete", deploying.withdraw(at.board, at.processor(given), at.signed()))
            version = at.version(given)
            deploying.check_unused(at.board, version)
            await at.registry.delete("delete", key_of(version), at.signed().by)
            _say(asked, "delete", version, f"deleted {version.processor}@{version.version}")
            return OK

    return asyncio.run(run())


async def _change(at: Office, action: str, record: Deployment | Promotion) -> int:
    """Try a change out here if the code is here, write it, and wait for the workers."""
    after = at.board.after(key_of(record), record, at.board.offset)
    if at.settings.deps is not None or at.settings.processors:
        await _try_out(at, after)
    elif not at.seen.turn_workers:
        output.note("No turn worker is alive, and no code is named here: nothing could be checked.")
    members = record.members if isinstance(record, Promotion) else (record,)
    await at.registry.write(action, record)
    said = f"{action}: {', '.join(map(_told, members))}"
    if not at.asked.wait or not at.seen.turn_workers:
        _say(at.asked, action, record, said)
        return OK
    refused, waiting = await _wait(at)
    if refused is not None:
        await _put_back(at, members)
        raise CommandError(
            f"{refused.worker} refuses it, and what was chosen before is back: {refused.refused}", FAILED
        )
    if waiting:
        who = ", ".join(one.worker for one in waiting)
        raise CommandError(
            f"it is written, but not everybody has taken it on after {CONVERGE_S:g} s: {who}. `turngate processors list` "
            "shows how far they are.",
            FAILED,
        )
    _say(at.asked, action, record, said)
    return OK


async def _wait(at: Office) -> tuple[WorkerStatus | None, list[WorkerStatus]]:
    """Wait until every live worker has taken a change on; return who refused it, and who has said nothing."""
    deadline = time.monotonic() + CONVERGE_S
    while True:
        seen = await at.registry.read()
        turns = seen.turn_workers
        told = [one for one in turns if one.offset >= seen.board.offset]
        refused = next((one for one in told if one.refused is not None), None)
        waiting = [one for one in turns if one not in told]
        if refused is not None or not waiting or time.monotonic() > deadline:
            return refused, waiting
        await asyncio.sleep(_POLL_S)


async def _put_back(at: Office, members: Sequence[Deployment]) -> None:
    """Write back what was chosen before, as far as that has been changed."""
    signed = at.signed()
    for one in members:
        before = at.board.choices.get(one.processor)
        if before is None:
            before = Deployment(kind=one.kind, name=one.name, by=signed.by, at=signed.at)
        await at.registry.write("refused", before.model_copy(update={"by": signed.by, "at": signed.at}))


def _check_code(at: Office, versions: Sequence[ProcessorVersion]) -> None:
    """Check that every live turn worker has the code of `versions`.

    Raises:
        DeploymentError: one lacks it. What was chosen before stays.
    """
    for version in versions:
        without = [one.worker for one in at.seen.turn_workers if not has_code(one, version)]
        if without:
            raise DeploymentError(
                f"{version.processor}@{version.version}: {output.count(len(without), 'live worker')} without its code: "
                f"{', '.join(without)}. Roll out an image that has it, then deploy; nothing is changed."
            )


async def _try_out(at: Office, board: Board) -> None:
    """Make the chains of `board` in processes of this command's own.

    Raises:
        DepsError: they cannot be made.
    """
    runner = runner_of(at.settings)
    await runner.start()
    try:
        for tenant in (None, *board.tenants):
            await runner.install(plan_of(board.choices.values(), tenant))
    finally:
        await runner.stop()


async def _made_here(at: Office, given: str, config: dict[str, Any] | None) -> ProcessorVersion:
    runner = runner_of(at.settings)
    await runner.start()
    try:
        choice = find(runner, given, config)
        made = await runner.install(Plan((choice,), alone=True))
        member = next(one for one in made.manifest.everything if (one.kind, one.name) == (choice.kind, choice.name))
        return deploying.push(member, choice.code or "", config, at.signed())
    finally:
        await runner.stop()


def find(runner: ProcessChainRunner, given: str, config: dict[str, Any] | None) -> Choice:
    """Return the choice of the code that `given`, a name with or without `@version`, means here, with `config`.

    Raises:
        DeploymentError: there is no such code, or there are several versions of it.
    """
    name, _, code = given.rpartition("@") if "@" in given else (given, "", "")
    there = [one.partition("#")[0] for one in runner.available]
    called = [one for one in there if name in (one.rpartition("@")[0], one.partition("/")[2].rpartition("@")[0])]
    found = [one for one in called if not code or one.rpartition("@")[2] == code]
    if len(found) != 1:
        known = ", ".join(called or there) or "none"
        raise DeploymentError(
            f"{given}: {'no such code is here' if not found else 'there are several versions of it here, say which'} "
            f"({known}). Name it with TURNGATE_DEPS or TURNGATE_PROCESSORS, as workers do."
        )
    processor, _, code = found[0].rpartition("@")
    kind, _, name = processor.partition("/")
    return Choice(kind, name, code, code=code, config=spelt(config))


def runner_of(settings: Settings) -> ProcessChainRunner:
    """Return what loads the code that `settings` name, and runs it apart from this process."""
    return ProcessChainRunner(settings.deps, sources=settings.processors, workers=1, paths=(Path.cwd(),))


def parsed(config: str | None) -> dict[str, Any] | None:
    """Return a configuration that is given as JSON, or as @ and a file of it.

    Raises:
        CommandError: it is no JSON object.
    """
    if config is None:
        return None
    text = Path(config[1:]).read_text(encoding="utf-8") if config.startswith("@") else config
    try:
        given = json.loads(text)
    except ValueError as error:
        raise CommandError(f"--config: not JSON: {error}") from None
    if not isinstance(given, dict):
        raise CommandError("--config: write a JSON object")
    return given


def _told(one: Deployment) -> str:
    chosen = f"@{one.version}" if one.version is not None else ", as declared"
    beside = f", with {one.shadow} in its shadow" if one.shadow is not None else ""
    return f"{one.processor}{chosen}{'' if one.active else ', switched off'}{beside}"


def _say(asked: Asked, action: str, record: Any, words: str) -> None:
    if asked.as_json:
        output.json_line({"action": action, **record.model_dump(mode="json", exclude_none=True)})
    else:
        output.line(words)
