"""turngate at work: two small pipelines on one broker, five turns, and then all is taken down again."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
import uuid
from collections import deque
from contextlib import AsyncExitStack, aclosing
from typing import Final

from aiokafka import AIOKafkaConsumer

from streams.brokers.runtime_file import RuntimeFileError
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, UNREACHABLE, CommandError
from streams.cli.work.attend import attend
from streams.cli.work.crew import Crew
from streams.cli.work.demo_overheard import listen, overheard
from streams.cli.work.demo_show import Show, show_for
from streams.cli.work.demo_turns import TURNS, DemoTurn, Pipeline
from streams.cli.work.stage import Stage, interrupts, stage
from streams.settings import EMBEDDED, Settings, environment
from topics.admin import TopicAdmin
from topics.client import TurnClient
from topics.connection import Connection
from topics.fold import TurnView
from topics.names import Names

PIPELINES: Final[tuple[Pipeline, ...]] = ("streamed", "whole")
_DEPS: Final = "streams.cli.demo_deps"
_PARTITIONS: Final = 1
_SILENCE_S: Final = 60.0
#: How long to wait, in seconds, for what the model still wrote when its answer has been refused.
_REST_S: Final = 0.3
_KEPT_LINES: Final = 200
_INTERRUPTED: Final = 130


def run(broker: str | None, *, as_json: bool) -> int:
    """Run the demo on `broker` (None: one of its own) and return the exit status.

    Raises:
        CommandError: a worker does not start, or nothing comes.
        EmbeddedBrokerError: our own broker cannot be had.
        TopicsError: the broker is out of reach.
    """
    began = time.monotonic()
    # Not the broker of the environment: a demo has no business there, unless it is told so now.
    settings = session.begin({"broker": broker or EMBEDDED})
    show = show_for(as_json=as_json)
    try:
        ok = asyncio.run(_run(settings.broker, show))
    finally:
        show.leave()
    show.close(ok=ok, seconds=time.monotonic() - began)
    return OK if ok else FAILED


async def _run(broker: str, show: Show) -> bool:
    # Whatever was there before, topics of its own: a broker that is not ours may hold those of an earlier demo.
    prefixes = {name: f"turngate-demo-{uuid.uuid4().hex[:8]}.{name}." for name in PIPELINES}
    said: deque[str] = deque(maxlen=_KEPT_LINES)

    def hear(name: str, line: str) -> None:
        said.append(f"{name} | {line}")

    crew = Crew(hear, lambda name, status: hear(name, f"ended with status {status}, starting it again"))
    with interrupts() as told:
        async with AsyncExitStack() as stack:
            elsewhere = stack.enter_context(tempfile.TemporaryDirectory(prefix="turngate-demo-"))
            where = await stack.enter_async_context(stage(broker))
            stack.push_async_callback(crew.stop)
            if where.own is not None:
                _publish(where, stack)
            output.note(f"turngate: broker on {where.bootstrap}, starting workers ...")
            for name in PIPELINES:
                await TopicAdmin(Connection(where.bootstrap), Names(prefixes[name])).create(_PARTITIONS)
            for name in PIPELINES:
                own = environment(_settings(where.bootstrap, prefixes[name], name))
                await crew.add(f"{name}-turns", "turns", own, directory=elsewhere)
                await crew.add(f"{name}-models", "models", own, directory=elsewhere)
                if name == "streamed":
                    await crew.add(f"{name}-tools", "tools", own, directory=elsewhere)
            try:
                done = await attend(crew, where, told, _turns(where.bootstrap, prefixes, show))
            except CommandError:
                for line in said:
                    output.note(line)
                raise
            if done is None:
                raise CommandError("interrupted; everything is stopped.", _INTERRUPTED)
            return done


def _settings(bootstrap: str, prefix: str, name: Pipeline) -> Settings:
    """Return the settings of a pipeline's workers: nothing of the user's own."""
    return Settings.model_construct(
        broker=bootstrap, prefix=prefix, deps=f"{_DEPS}:{name}", script_enabled=True, processor_workers=1
    )


def _publish(where: Stage, stack: AsyncExitStack) -> None:
    with contextlib.suppress(RuntimeFileError):
        if session.publish(where.bootstrap):
            stack.callback(session.unpublish)


async def _turns(bootstrap: str, prefixes: dict[Pipeline, str], show: Show) -> bool:
    """Play all turns and say whether each ended as it should."""
    async with AsyncExitStack() as stack:
        places = {name: (Connection(bootstrap), Names(prefixes[name])) for name in PIPELINES}
        clients = {name: await stack.enter_async_context(TurnClient(*places[name])) for name in PIPELINES}
        listeners = {name: await stack.enter_async_context(overheard(*places[name], _PARTITIONS)) for name in PIPELINES}
        right = []
        for number, turn in enumerate(TURNS, start=1):
            right.append(await _play(number, turn, clients[turn.pipeline], listeners[turn.pipeline], show))
        return all(right)


async def _play(number: int, turn: DemoTurn, client: TurnClient, heard: AIOKafkaConsumer, show: Show) -> bool:
    """Send one turn, show what the model writes beside what readers see, and say whether it ended as it should."""
    show.start(number, turn)
    key = await client.submit(turn.message, params=turn.params)
    listening = asyncio.create_task(listen(heard, key, show))
    view = TurnView(key)
    try:
        async with aclosing(client.watch(key, timeout_s=_SILENCE_S)) as views:
            async for view in views:
                if view.new_text and turn.answer is not None:
                    show.saw(view.new_text)
        await asyncio.wait((listening,), timeout=_REST_S)
    except TimeoutError as error:
        raise CommandError(f"the demo's turn {number} got no answer: {error}", UNREACHABLE) from None
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    ok = turn.is_right(view)
    show.end(view, ok=ok)
    return ok
