"""The tool runner: put together from the settings, and run."""

from __future__ import annotations

import time
from pathlib import Path

from streams.broker_access import connection_of
from streams.faust_shell.base import AppSettings, JournalApp
from streams.faust_shell.feeding import feed
from streams.faust_shell.kafka import takes_idempotent_producers
from streams.metrics import ToolMetrics
from streams.process import die, run_until_stopped, unique, worker_name
from streams.roles.beginning import usable_partitions
from streams.runner.loop import Ports
from streams.runner.tools import ToolRunner
from streams.runner.worker import RunnerSettings
from streams.settings import Settings
from streams.status import serve_status
from streams.tools.processes import NoToolsError, ToolProcesses
from topics import names
from topics.names import Names

#: A turn worker may publish a call again for as long as its turn is open, and a little longer.
_KEEP_MARGIN_S = 3600.0


async def run_tool_runner(settings: Settings, bootstrap: str) -> None:
    """Run a tool runner on the brokers at `bootstrap` until the process is told to stop.

    Raises:
        DepsError: the operator's tools do not load, or there are none (`NoToolsError`).
        MetricsPortError: `/metrics` cannot be served on the port that is set.
        TopicLayoutError: topics are missing or laid out differently.
        BrokerUnreachableError: nobody answers at `bootstrap`.
    """
    if settings.deps is None:
        raise NoToolsError("TURNGATE_DEPS is not set: name a Deps(tools=[...]), or run no tool runner")
    connection, topic_names = connection_of(settings, bootstrap), Names(settings.prefix)
    tools = ToolProcesses(
        settings.deps,
        workers=settings.tool_processes,
        max_chars=settings.max_tool_result_bytes,
        on_fatal=die,
        now=time.time,
        paths=(Path.cwd(),),
    )
    await tools.start()
    try:
        partitions = await usable_partitions(connection, topic_names, "tools")
        metrics = ToolMetrics()
        status = serve_status(settings.metrics_port, metrics)
        idempotent = await takes_idempotent_producers(connection)
        app = JournalApp(
            AppSettings(connection, topic_names, partitions, "tools", settings.session_timeout_s, idempotent)
        )
        runner = ToolRunner(
            tools,
            Ports(app.sender, topic_names, worker_name(), time.time, die),
            app.logs,
            RunnerSettings(partitions, settings.max_tool_calls, settings.turn_timeout_s + _KEEP_MARGIN_S),
            max_result_bytes=settings.max_tool_result_bytes,
            observer=metrics,
            replays=app.journal.take_replays,
            unique=unique,
        )
        app.belong_to(runner.partitions, die)
        feed(app, runner, die, patient=names.TOOL_CALLS, urgent=[names.CANCELS, names.ERASURES], observer=metrics)
        status.ready_when(app.unready)
        await run_until_stopped(app, runner.partitions.lose)
    finally:
        await tools.stop()
