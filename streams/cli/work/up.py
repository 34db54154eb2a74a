"""The whole pipeline on this machine, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from streams.brokers.runtime_file import RuntimeFileError
from streams.cli import output, session
from streams.cli.failures import OK, CommandError
from streams.cli.work.attend import attend
from streams.cli.work.crew import Crew
from streams.cli.work.stage import Stage, interrupts, stage
from streams.settings import Settings, environment
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.errors import TopicLayoutError
from topics.names import Names

MODELS = "models"


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for: how many turn `workers`, who answers, how many `partitions` (None: as there are)."""

    workers: int
    model: str | None
    partitions: int | None
    as_json: bool


def run(wish: Wish, *, broker: str | None, deps: str | None) -> int:
    """Run the pipeline until Ctrl-C or SIGTERM, and return the exit status.

    Raises:
        CommandError: the wish cannot be met, a worker refuses to start, or the broker is lost.
        EmbeddedBrokerError: our own broker cannot be had.
        TopicsError: the broker is out of reach, or topics are laid out differently.
    """
    given = {"broker": broker, "deps": deps, "partitions": wish.partitions, **_model(wish.model)}
    settings = session.begin(given)
    if wish.model == "openai" and settings.openai_base_url is None and settings.openai_api_key is None:
        raise CommandError("--model openai: set TURNGATE_OPENAI_API_KEY or TURNGATE_OPENAI_BASE_URL, or give the URL.")
    return asyncio.run(_run(settings, wish))


def _model(model: str | None) -> dict[str, object]:
    """Return the settings that say who answers."""
    if model is None or model == "openai":
        return {}
    if model == "script":
        return {"script_enabled": True}
    if model.startswith(("http://", "https://")):
        return {"openai_base_url": model}
    raise CommandError("--model: write script, openai, or the URL of an OpenAI-compatible server")


async def _run(settings: Settings, wish: Wish) -> int:
    with interrupts() as told:
        async with stage(settings.broker) as where:
            partitions = await _topics(settings, where.bootstrap, wish.partitions)
            if wish.workers > partitions:
                raise CommandError(
                    f"--workers {wish.workers}: the topics have {partitions} partitions, and a worker without one is idle. "
                    f"Give at most {partitions}, or topics of another prefix with more --partitions."
                )
            with _published(where.bootstrap):
                await _work(settings.model_copy(update={"broker": where.bootstrap}), wish, where, told)
    _say("stopped", "Stopped.", as_json=wish.as_json)
    return OK


async def _topics(settings: Settings, bootstrap: str, partitions: int | None) -> int:
    """Create what is missing, and return how many partitions there are."""
    admin = TopicAdmin(Connection(bootstrap), Names(settings.prefix))
    if partitions is None:
        try:
            partitions = await admin.pipeline_partitions()
        except TopicLayoutError:  # none yet
            partitions = settings.partitions
    await admin.create(partitions, settings.replication)
    return partitions


@contextmanager
def _published(bootstrap: str) -> Iterator[None]:
    """Let other commands find the broker, if nothing else here does so already."""
    try:
        if not session.publish(bootstrap):
            output.note(
                f"turngate: another pipeline runs here, and commands go to that one. For this one: --broker {bootstrap}"
            )
    except RuntimeFileError as error:
        output.note(f"turngate: {error}")
    try:
        yield
    finally:
        session.unpublish()


async def _work(settings: Settings, wish: Wish, where: Stage, told: asyncio.Event) -> None:
    def hear(name: str, line: str) -> None:
        output.note(f"{name} | {line}")

    def tell(name: str, status: int) -> None:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        words = f"{name} ended with {how}: starting it again."
        _say("restarting", words, as_json=wish.as_json, process=name, status=status)

    crew = Crew(hear, tell)
    try:
        for number in range(wish.workers):
            await crew.add(f"turns-{number + 1}", "turns", environment(_one_of(settings, number)))
        await crew.add(MODELS, "models", environment(settings))
        _welcome(settings, wish, crew.pids)
        await attend(crew, where, told)
    finally:
        await crew.stop()


def _one_of(settings: Settings, number: int) -> Settings:
    """Return the settings of one of several turn workers: two cannot serve metrics on one port."""
    port = settings.metrics_port
    return settings if not port else settings.model_copy(update={"metrics_port": port + number})


def _welcome(settings: Settings, wish: Wish, pids: dict[str, int]) -> None:
    if not settings.script_enabled and settings.openai_base_url is None and settings.openai_api_key is None:
        output.note(
            "turngate: no model is configured, so every turn will fail. Give --model script, openai, or a server's URL."
        )
    if wish.as_json:
        row = {"event": "up", "broker": settings.broker, "prefix": settings.prefix, "pids": pids}
        output.json_line(row)
        return
    output.line(f"The pipeline {settings.prefix!r} runs on {settings.broker}; its workers take a few seconds to start.")
    output.line("Try `turngate send` in another terminal. Ctrl-C stops everything.")


def _say(event: str, words: str, *, as_json: bool, **more: object) -> None:
    if as_json:
        output.json_line({"event": event, **more})
    else:
        output.note(words)
