"""What every kind of runner does once it is put together: fed, watched, reported, and run until it is told to stop."""

from __future__ import annotations

import time
from typing import Any

from streams.deployments.deployer import Running
from streams.deployments.reporter import Reporter
from streams.faust_shell.base import JournalApp
from streams.faust_shell.feeding import feed
from streams.metrics import WorkerMetrics
from streams.process import die, run_until_stopped, worker_name
from streams.runner.worker import Runner
from streams.status import Status
from topics import names
from topics.names import JournalRole, Names, Topic


async def serve(
    app: JournalApp,
    runner: Runner[Any],
    role: JournalRole,
    *,
    requests: Topic,
    topic_names: Names,
    metrics: WorkerMetrics,
    status: Status,
) -> None:
    """Make the calls that are asked for on `requests` until the process is told to stop."""
    app.belong_to(runner.partitions, die)
    feed(app, runner, die, patient=requests, urgent=[names.CANCELS, names.ERASURES], observer=metrics)
    metrics.count_void(lambda: runner.partitions.void)
    status.ready_when(app.unready)
    reporter = Reporter(app.connection, topic_names, worker_name(), role, time.time)
    reporter.changed(Running())
    async with reporter.reporting():
        await run_until_stopped(app, runner.partitions.lose)
