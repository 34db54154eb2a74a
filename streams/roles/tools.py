"""The tool runner: put together from the settings, and run."""

from __future__ import annotations

import time
from pathlib import Path

from streams.broker_access import connection_of
from streams.metrics import ToolMetrics
from streams.process import die, unique, worker_name
from streams.roles.beginning import journal_app, usable_partitions
from streams.roles.runners import serve
from streams.runner.loop import Ports
from streams.runner.tools import ToolRunner
from streams.runner.worker import RunnerSettings
from streams.settings import Settings
from streams.status import serve_status
from streams.tools.processes import NoToolsError, ToolProcesses
from streams.tracing.calls import ToolCallTracing
from streams.tracing.spans import Spans
from streams.tracing.start import tracing
from topics import names
from topics.names import Names

#: A turn worker may publish a call again for as long as its turn is open, and a little longer.
_KEEP_MARGIN_S = 3600.0


async def run_tool_runner(settings: Settings, bootstrap: str) -> None:
    """Run a tool runner on the brokers at `bootstrap` until the process is told to stop.

    Raises:
        DepsError: the operator's tools do not load, or there are none (`NoToolsError`).
        MetricsPortError: `/metrics` cannot be served on the port that is set.
        TracingError: traces are wanted and cannot be sent.
        TopicLayoutError: topics are missing or laid out differently.
        BrokerUnreachableError: nobody answers at `bootstrap`.
    """
    if settings.deps is None:
        raise NoToolsError("TURNGATE_DEPS is not set: name a Deps(tools=[...]), or run no tool runner")
    async with tracing(settings, "tools") as spans:
        await _run(settings, settings.deps, bootstrap, spans)


async def _run(settings: Settings, deps: str, bootstrap: str, spans: Spans | None) -> None:
    connection, topic_names = connection_of(settings, bootstrap), Names(settings.prefix)
    tools = ToolProcesses(
        deps,
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
        app = await journal_app(settings, connection, topic_names, partitions, "tools")
        tracer = ToolCallTracing(spans, time.time, tools.tools) if spans is not None else None
        runner = ToolRunner(
            tools,
            Ports(app.sender, topic_names, worker_name(), time.time, die, tracer, metrics.refused),
            app.logs,
            RunnerSettings(partitions, settings.max_tool_calls, settings.turn_timeout_s + _KEEP_MARGIN_S),
            max_result_bytes=settings.max_tool_result_bytes,
            observer=metrics,
            replays=app.journal.take_replays,
            unique=unique,
        )
        await serve(
            app,
            runner,
            "tools",
            requests=names.TOOL_CALLS,
            topic_names=topic_names,
            metrics=metrics,
            status=status,
        )
    finally:
        await tools.stop()
