"""The turn worker: put together from the settings, checked against the boot floor, and run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from processors import Deps, DepsError, FailurePolicy, LastMessages, Manifest
from processors.board import Plan
from processors.catalogue import anything_named, load
from processors.effective import effective
from processors.scanner import OpenScanner
from streams.broker_access import connection_of
from streams.chains import ChainRunner, InlineChainRunner, ProcessChainRunner
from streams.deployments.deployer import Deployer, Running
from streams.deployments.reporter import Reporter
from streams.deployments.shadow import Shadow
from streams.faust_shell.deployments_tail import DeploymentsTail
from streams.faust_shell.feeding import feed
from streams.faust_shell.usage_tail import UsageTail
from streams.gate.policy import Policy
from streams.metrics import Metrics
from streams.policies import with_chains
from streams.process import die, run_until_stopped, unique, worker_name
from streams.roles.beginning import journal_app, usable_partitions
from streams.roles.warming import warm_up
from streams.settings import Settings
from streams.status import Status, serve_status
from streams.tracing.start import tracing
from streams.tracing.turns import TurnTracing
from streams.turns.chain_table import ChainTable, TurnChains
from streams.turns.desk_settings import DeskSettings
from streams.turns.loop import Ports
from streams.turns.meter import UsageMeter
from streams.turns.threads import ThreadSettings
from streams.turns.tracer import Tracer
from streams.turns.worker import TurnWorker, WorkerSettings
from topics import names
from topics.connection import Connection
from topics.names import Names
from topics.records import UsageRecord

log = logging.getLogger(__name__)

#: What models are told of a thread where the operator says nothing about it.
HISTORY = LastMessages(40)
NOTHING_DEPLOYED = Plan()


async def run_turn_worker(settings: Settings, bootstrap: str) -> None:
    """Run a turn worker on the brokers at `bootstrap` until the process is told to stop.

    Raises:
        DepsError: the operator's processors do not load, a required control is not among them, or a budget looks further
            back than usage is kept.
        TracingError: traces are wanted and cannot be sent.
        TopicLayoutError: topics are missing or laid out differently.
        BrokerUnreachableError: nobody answers at `bootstrap`.
    """
    async with tracing(settings, "turns") as spans:
        await _run(settings, bootstrap, TurnTracing(spans) if spans is not None else None)


async def _run(settings: Settings, bootstrap: str, tracer: Tracer | None) -> None:
    connection, topic_names = connection_of(settings, bootstrap), Names(settings.prefix)
    chains = chain_runner(settings)
    await chains.start()
    try:
        partitions = await usable_partitions(connection, topic_names, "turns")
        metrics = Metrics()
        status = serve_status(settings.metrics_port, metrics)
        async with deployed(settings, chains, connection, topic_names, metrics) as deployer:
            around = Surroundings(chains.manifest, connection, topic_names, partitions, metrics, status, tracer)
            await _work(settings, deployer, around)
    finally:
        await chains.stop()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a turn worker works with: the manifest of its `Deps`, the broker, and where it counts what it does.

    `tracer` traces its turns.
    """

    manifest: Manifest
    connection: Connection
    topic_names: Names
    partitions: int
    metrics: Metrics
    status: Status
    tracer: Tracer | None = None


async def _work(settings: Settings, deployer: Deployer, around: Surroundings) -> None:
    manifest, connection, topic_names = around.manifest, around.connection, around.topic_names
    partitions, metrics = around.partitions, around.metrics
    counted_s = recent_turns_s(deployer.table)
    meter = usage_meter(manifest, counted_s, settings.retention_s.get(names.USAGE.name, names.USAGE.retention_s))
    app = await journal_app(settings, connection, topic_names, partitions, "turns")
    desk = DeskSettings(
        partitions=partitions,
        on_busy=settings.on_busy,
        max_thread_turns=settings.max_thread_turns,
        idempotency_window_s=settings.idempotency_window_s,
        traced=around.tracer is not None,
        journal_version=settings.journal_version,
        threads=ThreadSettings(
            window=manifest.history or (None if manifest.own_history else HISTORY),
            windows={agent.name: agent.history for agent in manifest.agents if agent.history is not None},
            retention_s=settings.thread_retention_s,
        ),
    )
    worker = TurnWorker(
        deployer.table,
        WorkerSettings(desk, max_open_turns=settings.max_open_turns),
        Ports(app.sender, app.reader, topic_names, worker_name(), time.time, die, metrics, around.tracer),
        app.logs,
        revive=deployer.revive,
        judged=deployer.shadow.judged if deployer.shadow is not None else None,
        meter=meter,
        replays=app.journal.take_replays,
        unique=unique,
    )
    if deployer.shadow is not None:
        deployer.shadow.producer = app.sender
    deployer.pinned = lambda: worker.pinned
    deployer.counted_s = counted_s
    app.belong_to(worker.partitions, die)
    urgent = [names.FRAMES, names.TOOL_RESULTS, names.ERASURES]
    feed(app, worker, die, patient=names.REQUESTS, urgent=urgent, observer=metrics)
    metrics.count_void(lambda: worker.partitions.void)
    around.status.ready_when(app.unready)
    async with usage_followed(meter, connection, topic_names, partitions, metrics), following(deployer):
        await run_until_stopped(app, worker.partitions.lose)


@asynccontextmanager
async def deployed(
    settings: Settings, chains: Runner, connection: Connection, topic_names: Names, metrics: Metrics
) -> AsyncIterator[Deployer]:
    """Give the block the chains as they are deployed: everything that is on the topic is read before it begins.

    Raises:
        DepsError: what is deployed cannot be run here.
    """
    reporter = Reporter(connection, topic_names, worker_name(), "turns", time.time)

    def changed(running: Running) -> None:
        ungated = any(one.policy.mode == "live" for one in deployer.table.begun_with)
        metrics.ungated(ungated)
        if ungated:
            log.warning("no output processor is declared: answers are released as they come, unjudged")
        reporter.changed(running)

    def made(plan: Plan, installed: ChainRunner) -> TurnChains:
        manifest = installed.manifest
        deployer.check_counted(manifest)
        return TurnChains(policy(settings, manifest), installed, scanner_opener(settings, manifest, plan))

    shadow = Shadow(lambda: _apart(settings, workers=1), topic_names, time.time, metrics.judged_in_shadow)
    deployer = Deployer(chains, made, changed, shadow)
    tail = DeploymentsTail(connection, topic_names, deployer.take, deployer.unreadable, die)
    async with tail.followed(), reporter.reporting():
        try:
            await deployer.start()
            await warm_up(deployer.table.begun_with)
            yield deployer
        finally:
            await shadow.stop()


@asynccontextmanager
async def following(deployer: Deployer) -> AsyncIterator[None]:
    """Have the chains follow what is deployed while the block runs."""

    def ended(task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            die(error)

    task = asyncio.create_task(deployer.run(), name="deployments")
    task.add_done_callback(ended)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def recent_turns_s(table: ChainTable) -> float:
    """Return how far back, in seconds, the chains that turns begin with ask for users' turns."""
    runners = [one.runner for one in table.begun_with]
    return max((one.manifest.recent_turns_s for one in runners if one is not None), default=0.0)


def usage_meter(
    manifest: Manifest, recent_s: float | None = None, kept_s: int | None = names.USAGE.retention_s
) -> UsageMeter | None:
    """Return what counts usage and users' turns of `recent_s` seconds (None: as the manifest asks for).

    None where nobody asks for anything. `kept_s` is how long the topic keeps usage, in seconds.

    Raises:
        DepsError: somebody asks for more than the topic keeps.
    """
    recent_s = manifest.recent_turns_s if recent_s is None else recent_s
    if not manifest.budgets and not recent_s:
        return None
    meter = UsageMeter(manifest.budgets, recent_s)
    if meter.window_s > (kept_s or 0):
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


Runner = InlineChainRunner | ProcessChainRunner


def chain_runner(settings: Settings) -> Runner:
    """Return what runs the operator's processors: processes of their own, or nothing where no code is named."""
    if settings.deps is None and not anything_named(settings.processors):
        return InlineChainRunner(Deps())
    return _apart(settings, workers=settings.processor_workers)


def _apart(settings: Settings, *, workers: int) -> ProcessChainRunner:
    """Return what runs the operator's processors in so many processes of their own."""
    return ProcessChainRunner(
        settings.deps,
        sources=settings.processors,
        workers=workers,
        paths=(Path.cwd(),),
        policy=FailurePolicy(voice_channels=frozenset(settings.voice_channels)),
    )


def scanner_opener(settings: Settings, manifest: Manifest, plan: Plan = NOTHING_DEPLOYED) -> OpenScanner | None:
    """Return what opens the output chain's scanners in this process, where every member of it has one."""
    if manifest.release_mode != "scan":
        return None
    deps, catalogue = load(settings.deps, settings.processors, paths=(Path.cwd(),))
    return effective(deps, catalogue, plan).scanners()


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
