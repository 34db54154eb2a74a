"""The whole pipeline on this machine, until it is told to stop."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streams.broker_access import connection_of
from streams.brokers import ports
from streams.brokers.runtime_file import RuntimeFileError
from streams.chains import ProcessChainRunner
from streams.cli import output, session
from streams.cli.failures import OK, CommandError
from streams.cli.work import gateway
from streams.cli.work.attend import attend
from streams.cli.work.crew import Crew
from streams.cli.work.stage import Stage, interrupts, stage
from streams.settings import EMBEDDED, Settings, environment
from topics.admin import TopicAdmin
from topics.errors import TopicLayoutError
from topics.names import Names

MODELS = "models"
TOOLS = "tools"
GATEWAY = "gateway"
#: What to send where answers are scripted; any other command without a script would only fail.
_SCRIPTED: Final = """turngate send "hello" --script '["Hello ", "you."]'"""
_ASKED: Final = 'turngate send "hello"'
#: What a worker logs, at level info, for each partition that it has claimed and read.
_RESTORED: Final = re.compile(r"INFO streams\.turns\.worker: partition (\d+) restored")


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for.

    How many turn `workers`, who answers, how many `partitions` (None: as there are), the `port` of our own broker (None:
    any), whether there is a `gateway` and at which port (None: the one that is set, or any where that is taken).
    """

    workers: int
    model: str | None
    partitions: int | None
    port: int | None
    gateway: bool
    gateway_port: int | None
    as_json: bool


def run(wish: Wish, *, broker: str | None, deps: str | None) -> int:
    """Run the pipeline until Ctrl-C or SIGTERM, and return the exit status.

    Raises:
        CommandError: the wish cannot be met, a worker refuses to start, or the broker is lost.
        DepsError: the processors do not load; nothing has been started then.
        EmbeddedBrokerError: our own broker cannot be had.
        TopicsError: the broker is out of reach, or topics are laid out differently.
    """
    given = {"broker": broker, "deps": deps, "partitions": wish.partitions, **_model(wish.model)}
    settings = session.begin(given)
    if wish.model == "openai" and not _has_server(settings):
        raise CommandError("--model openai: set TURNGATE_OPENAI_API_KEY or TURNGATE_OPENAI_BASE_URL, or give the URL.")
    if wish.port is not None and settings.broker != EMBEDDED:
        raise CommandError(f"--port is for a broker of its own, and {settings.broker} is named: leave one of them out.")
    return asyncio.run(_run(settings, wish))


def _has_server(settings: Settings) -> bool:
    return bool(settings.openai_base_url or settings.openai_api_key or settings.providers)


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
    began = time.monotonic()
    with interrupts() as told:
        with_tools = await _check_deps(settings)
        async with stage(settings.broker, wish.port) as where:
            partitions = await _topics(settings, where.bootstrap, wish.partitions)
            if wish.workers > partitions:
                raise CommandError(
                    f"--workers {wish.workers}: the topics have {partitions} partitions, and a worker without one is idle. "
                    f"Give at most {partitions}, or topics of another prefix with more --partitions."
                )
            with _published(where.bootstrap) as found:
                running = settings.model_copy(update={"broker": where.bootstrap})
                command = _first_command(running, named=not found)
                readiness = Readiness(began, partitions, command, as_json=wish.as_json)
                await _work(running, wish, where, told, readiness, with_tools=with_tools)
    _say("stopped", "Stopped.", as_json=wish.as_json)
    return OK


async def _check_deps(settings: Settings) -> bool:
    """Load the processors once, in a process of their own as the workers do, before anything else is started.

    Return whether there are tools beside them.
    """
    if settings.deps is None and not settings.processors:
        return False
    chains = ProcessChainRunner(settings.deps, sources=settings.processors, workers=1, paths=(Path.cwd(),))
    await chains.start()
    try:
        return bool(chains.manifest.tools)
    finally:
        await chains.stop()


async def _topics(settings: Settings, bootstrap: str, partitions: int | None) -> int:
    """Create what is missing, and return how many partitions there are."""
    admin = TopicAdmin(connection_of(settings, bootstrap), Names(settings.prefix), retention_s=settings.retention_s)
    if partitions is None:
        try:
            partitions = await admin.pipeline_partitions()
        except TopicLayoutError:  # none yet
            partitions = settings.partitions
    await admin.create(partitions, settings.replication)
    return partitions


@contextmanager
def _published(bootstrap: str) -> Iterator[bool]:
    """Let other commands find the broker, if nothing else here does so already; yield whether they do."""
    found = False
    try:
        found = session.publish(bootstrap)
        if not found:
            output.note(
                f"turngate: another pipeline runs here, and commands go to that one. For this one: --broker {bootstrap}"
            )
    except RuntimeFileError as error:
        output.note(f"turngate: {error}")
    try:
        yield found
    finally:
        session.unpublish()


class Readiness:
    """Says once, when all partitions are claimed, how many seconds that took since `began`, and what to type then.

    It goes by the lines of the turn workers, so it stays silent where they log nothing but warnings.
    """

    def __init__(self, began: float, partitions: int, command: str, *, as_json: bool) -> None:
        self._began = began
        self._missing = set(range(partitions))
        self._command = command
        self._as_json = as_json

    def hear(self, line: str) -> None:
        """Take in a line that a worker has printed."""
        restored = _RESTORED.search(line)
        if restored is None or not self._missing:
            return
        self._missing.discard(int(restored[1]))
        if self._missing:
            return
        seconds = time.monotonic() - self._began
        if self._as_json:
            output.json_line({"event": "ready", "seconds": round(seconds, 3)})
            return
        output.line(f"ready after {seconds:.1f} s. In another terminal: {self._command}")


async def _work(
    settings: Settings, wish: Wish, where: Stage, told: asyncio.Event, readiness: Readiness, *, with_tools: bool
) -> None:
    def hear(name: str, line: str) -> None:
        output.note(f"{name} | {line}")
        readiness.hear(line)

    def tell(name: str, status: int) -> None:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        words = f"{name} ended with {how}: starting it again."
        _say("restarting", words, as_json=wish.as_json, process=name, status=status)

    crew = Crew(hear, tell)
    try:
        for number in range(wish.workers):
            await crew.add(f"turns-{number + 1}", "turns", environment(_one_of(settings, number)))
        await crew.add(MODELS, "models", environment(_one_of(settings, wish.workers)))
        if with_tools:
            await crew.add(TOOLS, "tools", environment(_one_of(settings, wish.workers + 1)))
        url = await _gateway(crew, settings, wish)
        _welcome(settings, wish, crew.pids, url)
        await attend(crew, where, told)
    finally:
        await crew.stop()


async def _gateway(crew: Crew, settings: Settings, wish: Wish) -> str | None:
    """Start the gateway, open to this machine where no keys are set; return its address, or None if there is none."""
    if not wish.gateway:
        return None
    if not gateway.installed():
        output.note(f"turngate: there is no gateway here: {gateway.INSTALL}, or say --no-gateway.")
        return None
    port = wish.gateway_port or settings.gateway_port
    if wish.gateway_port is None and ports.is_open(port):
        port = ports.free_port()
    own: dict[str, object] = {"gateway_port": port, "metrics_port": None}
    if not settings.gateway_keys and settings.gateway_keys_file is None and settings.gateway_host in gateway.LOCAL:
        own["gateway_open"] = True
    if "gateway_frames" not in settings.model_fields_set:
        own["gateway_frames"] = "count"  # the console then tells how much is held
    await crew.add_command(GATEWAY, ("gateway",), environment(settings.model_copy(update=own)))
    return f"http://{settings.gateway_host}:{port}"


def _one_of(settings: Settings, number: int) -> Settings:
    """Return the settings of one of several workers: two cannot share a port for metrics, or a static name."""
    port, name = settings.metrics_port, settings.static_member
    own = {"metrics_port": port and port + number, "static_member": name and f"{name}-{number}"}
    return settings.model_copy(update=own)


def _first_command(settings: Settings, *, named: bool) -> str:
    """Return a command that gets an answer, with the broker's address if it has to be `named`."""
    command = _SCRIPTED if settings.script_enabled else _ASKED
    return f"{command} --broker {settings.broker}" if named else command


def _welcome(settings: Settings, wish: Wish, pids: dict[str, int], url: str | None) -> None:
    if not settings.script_enabled and not _has_server(settings):
        output.note(
            "turngate: no model is configured, so every turn will fail. Give --model script, openai, or a server's URL."
        )
    if settings.openai_base_url is not None and settings.openai_model is None:
        output.note("turngate: no model name is set, so turns that name none will fail: set TURNGATE_OPENAI_MODEL.")
    if wish.as_json:
        row = {"event": "up", "broker": settings.broker, "prefix": settings.prefix, "pids": pids, "gateway": url}
        output.json_line(row)
        return
    output.line(f"The pipeline {settings.prefix!r} runs on {settings.broker}; its workers take a few seconds to start.")
    if url is not None:
        output.line(f"The gateway is at {url}, what it offers at {url}/docs. OpenAI clients: base_url {url}/v1")
    output.line("Ctrl-C stops everything.")


def _say(event: str, words: str, *, as_json: bool, **more: object) -> None:
    if as_json:
        output.json_line({"event": event, **more})
    else:
        output.note(words)
