"""The turn worker: put together from the settings, checked against the boot floor, and run."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from processors import Deps, DepsError, FailurePolicy, LastMessages, Manifest, load_deps
from processors.scanner import ScannerChain
from streams.broker_access import connection_of
from streams.chains import ChainRunner, InlineChainRunner, ProcessChainRunner
from streams.faust_shell.base import AppSettings, JournalApp
from streams.faust_shell.feeding import feed
from streams.faust_shell.kafka import takes_idempotent_producers
from streams.faust_shell.usage_tail import UsageTail
from streams.gate.policy import Policy
from streams.metrics import Metrics
from streams.policies import with_chains
from streams.process import die, run_until_stopped, unique, worker_name
from streams.settings import Settings
from streams.status import serve_status
from streams.turns.desk import DeskSettings
from streams.turns.loop import Ports
from streams.turns.meter import UsageMeter
from streams.turns.threads import ThreadSettings
from streams.turns.worker import TurnWorker, WorkerSettings
from topics import names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.names import Names
from topics.records import UsageRecord

log = logging.getLogger(__name__)

#: What models are told of a thread where the operator says nothing about it.
HISTORY = LastMessages(40)


async def run_turn_worker(settings: Settings, bootstrap: str) -> None:
    """Run a turn worker on the brokers at `bootstrap` until the process is told to stop.

    Raises:
        DepsError: the operator's processors do not load, a required control is not among them, or a budget looks further
            back than usage is kept.
        TopicLayoutError: topics are missing or laid out differently.
        BrokerUnreachableError: nobody answers at `bootstrap`.
    """
    connection, topic_names = connection_of(settings, bootstrap), Names(settings.prefix)
    chains = chain_runner(settings)
    await chains.start()
    try:
        manifest = chains.manifest
        partitions = await TopicAdmin(connection, topic_names).require()
        metrics = Metrics()
        status = serve_status(settings.metrics_port, metrics)
        metrics.ungated(not manifest.output)
        if not manifest.output:
            log.warning("no output processor is declared: answers are released as they come, unjudged")
        meter = usage_meter(manifest)
        idempotent = await takes_idempotent_producers(connection)
        app = JournalApp(
            AppSettings(
                connection,
                topic_names,
                partitions,
                "turns",
                settings.session_timeout_s,
                idempotent,
                settings.static_member,
            )
        )
        desk = DeskSettings(
            partitions=partitions,
            on_busy=settings.on_busy,
            max_thread_turns=settings.max_thread_turns,
            idempotency_window_s=settings.idempotency_window_s,
            threads=ThreadSettings(
                window=manifest.history or (None if manifest.own_history else HISTORY),
                windows={agent.name: agent.history for agent in manifest.agents if agent.history is not None},
                retention_s=settings.thread_retention_s,
            ),
        )
        worker = TurnWorker(
            policy(settings, manifest),
            WorkerSettings(desk, max_open_turns=settings.max_open_turns),
            chains,
            Ports(app.sender, app.reader, topic_names, worker_name(), time.time, die, metrics),
            app.logs,
            open_scanner=scanner_opener(settings, manifest),
            meter=meter,
            replays=app.journal.take_replays,
            unique=unique,
        )
        app.belong_to(worker.partitions, die)
        feed(app, worker, die, patient=names.REQUESTS, urgent=[names.FRAMES, names.TOOL_RESULTS], observer=metrics)
        status.ready_when(app.unready)
        async with usage_followed(meter, connection, topic_names, partitions, metrics):
            await run_until_stopped(app, worker.partitions.lose)
    finally:
        await chains.stop()


def usage_meter(manifest: Manifest) -> UsageMeter | None:
    """Return what counts usage and users' turns, None where nobody asks.

    Raises:
        DepsError: somebody asks for more than the topic keeps.
    """
    if not manifest.budgets and not manifest.recent_turns_s:
        return None
    meter = UsageMeter(manifest.budgets, manifest.recent_turns_s)
    kept_s = names.USAGE.retention_s or 0
    if meter.window_s > kept_s:
        raise DepsError(
            f"a budget or processor asks for the last {meter.window_s:.0f} s, and usage is kept for {kept_s} s: "
            "make its per_s or recent_turns_s smaller"
        )
    return meter


@asynccontextmanager
async def usage_followed(
    meter: UsageMeter | None, connection: Connection, topic_names: Names, partitions: int, metrics: Metrics
) -> AsyncIterator[None]:
    """Have `meter`, if there is one, told of all workers' usage while the block runs."""
    if meter is None:
        yield
        return

    def count(record: UsageRecord, news: bool) -> None:
        now = time.time()
        meter.take(record, now)
        if news:
            metrics.usage_counted(now - record.at)

    tail = UsageTail(connection, topic_names, partitions, meter.window_s, count, time.time, die)
    async with tail.followed() as found:
        log.info("usage of the last %.0f s is counted: %d records", meter.window_s, found)
        yield


def chain_runner(settings: Settings) -> ChainRunner:
    """Return what runs the operator's processors: processes of their own, or nothing where none are declared."""
    failures = FailurePolicy(voice_channels=frozenset(settings.voice_channels))
    if settings.deps is None:
        return InlineChainRunner(Deps(), policy=failures)
    return ProcessChainRunner(settings.deps, workers=settings.processor_workers, paths=(Path.cwd(),), policy=failures)


def scanner_opener(settings: Settings, manifest: Manifest) -> Callable[[], ScannerChain] | None:
    """Return what opens the output chain's scanners in this process, where every member of it has one."""
    if manifest.release_mode != "scan" or settings.deps is None:
        return None
    return load_deps(settings.deps, paths=(Path.cwd(),)).scanners()


def policy(settings: Settings, manifest: Manifest) -> Policy:
    """Return the turns' policy that follows from the settings and from what is declared."""
    base = Policy(
        max_attempts=settings.max_attempts,
        fallback_models=tuple(settings.fallback_models),
        max_retry_wait_s=settings.max_retry_wait_s,
        on_retry=settings.on_retry,
        turn_timeout_s=settings.turn_timeout_s,
        idle_timeout_s=settings.idle_timeout_s,
        gap_timeout_s=settings.gap_timeout_s,
        post_budget_s=settings.post_budget_s,
        max_answer_chars=settings.max_answer_chars,
        max_tool_result_bytes=settings.max_tool_result_bytes,
        default_reply=settings.default_reply,
        budget_reply=settings.budget_reply,
        channel_defaults=settings.channel_replies,
    )
    return with_chains(base, manifest)
