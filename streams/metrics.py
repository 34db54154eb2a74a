"""Every metric there is, and the only place that knows Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from streams.faust_shell.observer import WorkerObserver
from streams.metric_list import BY_NAME, Kind, Metric, Role
from streams.models.guard import Outcome as CallOutcome
from streams.models.guard import ProviderObserver
from streams.tools.answers import Outcome as ToolOutcome
from streams.tools.ports import ToolObserver
from streams.turns.observer import Observer
from streams.turns.plan import Plan
from topics.records import (
    BlockedFrame,
    Decision,
    FailedFrame,
    RejectedFrame,
    ResetFrame,
    TextFrame,
    UsageRecord,
)


class RoleMetrics:
    """What the metrics of all roles have in common: a registry, and some that everybody has.

    A metric is made by its name in `streams.metric_list`, and for the roles that are named there.
    """

    def __init__(self, role: Role) -> None:
        self.registry = CollectorRegistry()
        self._role: Role = role
        self.gauge("turngate_build_info").labels(version("turngate"), role).set(1)
        self.gauge("turngate_start_time_seconds").set_to_current_time()
        self._ready = self.gauge("turngate_ready")

    def counter(self, name: str) -> Counter:
        """Return the counter of that name."""
        metric = self._metric(name, "counter")
        return Counter(name, metric.meaning, metric.labels, registry=self.registry)

    def gauge(self, name: str) -> Gauge:
        """Return the gauge of that name."""
        metric = self._metric(name, "gauge")
        return Gauge(name, metric.meaning, metric.labels, registry=self.registry)

    def histogram(self, name: str) -> Histogram:
        """Return the histogram of that name."""
        metric = self._metric(name, "histogram")
        return Histogram(name, metric.meaning, metric.labels, buckets=metric.buckets, registry=self.registry)

    def render(self) -> tuple[str, bytes]:
        """Return all of them as Prometheus reads them: the content type, and the body."""
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)

    def ready_when(self, ready: Callable[[], bool]) -> None:
        """Show what `ready` says whenever they are rendered."""
        self._ready.set_function(lambda: float(ready()))

    def _metric(self, name: str, kind: Kind) -> Metric:
        metric = BY_NAME[name]
        if metric.kind != kind or self._role not in metric.roles:
            raise ValueError(f"{name} is a {metric.kind} of {', '.join(metric.roles)}")
        return metric


class WorkerMetrics(RoleMetrics, WorkerObserver):
    """What all workers have, beside that."""

    def __init__(self, role: Role) -> None:
        super().__init__(role)
        self._owned = self.gauge("turngate_owned_partitions")
        self._rebalances = self.counter("turngate_rebalances_total")
        self._lag = self.gauge("turngate_lag_records")
        self._void = self.counter("turngate_void_records_total")
        self._void_counted = 0
        self._void_so_far: Callable[[], int] = int
        self._refused = self.counter("turngate_dead_letters_total")

    def assigned(self, partitions: int) -> None:
        """Count a rebalance."""
        self._rebalances.inc()
        self._owned.set(partitions)
        self._lag.clear()

    def count_void(self, so_far: Callable[[], int]) -> None:
        """Have what superseded workers wrote counted: `so_far` says how much that is."""
        self._void_so_far = so_far

    def render(self) -> tuple[str, bytes]:
        """Return all of them as Prometheus reads them: the content type, and the body."""
        found = self._void_so_far()
        self._void.inc(max(0, found - self._void_counted))
        self._void_counted = max(found, self._void_counted)
        return super().render()

    def refused(self, error: str) -> None:
        """Count a source record that was refused."""
        self._refused.labels(error).inc()

    def lag(self, behind: Mapping[tuple[str, int], int]) -> None:
        """Show how far behind the worker is; what it no longer reads is no longer shown."""
        self._lag.clear()
        for (topic, partition), records in behind.items():
            self._lag.labels(topic, str(partition)).set(records)


class Metrics(WorkerMetrics, Observer):
    """The turn worker's metrics, in a registry of their own."""

    def __init__(self) -> None:
        super().__init__("turns")
        self._ungated = self.gauge("turngate_ungated")
        self._turns = self.counter("turngate_turns_total")
        self._open = self.gauge("turngate_open_turns")
        self._waiting = self.gauge("turngate_waiting_inputs")
        self._unpublished = self.gauge("turngate_unpublished_records")
        self._failures = self.counter("turngate_failures_total")
        self._refusals = self.counter("turngate_refusals_total")
        self._oldest = self.gauge("turngate_oldest_turn_seconds")
        self._held = self.gauge("turngate_held_characters")
        self._held_for = self.gauge("turngate_held_seconds")
        self._released_characters = self.counter("turngate_released_characters_total")
        self._resets = self.counter("turngate_resets_total")
        self._first = self.histogram("turngate_first_release_seconds")
        self._added = self.histogram("turngate_added_latency_seconds")
        self._append = self.histogram("turngate_journal_append_seconds")
        self._tokens = self.counter("turngate_tokens_total")
        self._sources = self.counter("turngate_source_records_total")
        self._dropped = self.counter("turngate_frames_dropped_total")
        self._skipped = self.counter("turngate_processor_skips_total")
        self._journaled = self.counter("turngate_journal_records_total")
        self._usage_lag = self.histogram("turngate_usage_lag_seconds")
        self._shadow = self.counter("turngate_shadow_answers_total")

    def applied(self, plan: Plan, sources: int) -> None:
        """Count what a plan brought."""
        self._sources.inc(sources)
        self._dropped.inc(plan.dropped)
        self._journaled.inc(len(plan.journal))
        for refused in plan.refused:
            self.refused(refused.error)
        for outgoing in plan.outgoing:
            for effect in outgoing.effects:
                self._published(effect.record, terminal=effect.terminal)

    def _published(self, record: object, *, terminal: bool) -> None:
        if terminal:
            self._turns.labels(str(getattr(record, "kind", ""))).inc()
        match record:
            case TextFrame():
                self._released_characters.inc(len(record.text))
            case ResetFrame():
                self._resets.inc()
            case FailedFrame():
                self._failures.labels(record.error, record.phase or "", record.processor or "").inc()
            case BlockedFrame() | RejectedFrame():
                self._refusals.labels(record.kind, record.processor).inc()
            case UsageRecord():
                estimated = "yes" if record.estimated else "no"
                self._tokens.labels("in", estimated).inc(record.usage.prompt_tokens)
                self._tokens.labels("out", estimated).inc(record.usage.completion_tokens)
            case Decision() if record.verdict == "skipped":
                self._skipped.labels(record.processor).inc()
            case _:
                pass

    def journaled(self, seconds: float) -> None:
        """Note how long an append took."""
        self._append.observe(seconds)

    def released(self, seconds: float) -> None:
        """Note how much later than read a release was confirmed."""
        self._added.observe(seconds)

    def first_release(self, seconds: float) -> None:
        """Note how long a turn's first text took."""
        self._first.observe(seconds)

    def held(self, partition: int, characters: int, oldest_s: float, held_s: float) -> None:
        """Note what a partition holds back and for how long, and how old its oldest turn is."""
        self._held.labels(str(partition)).set(characters)
        self._held_for.labels(str(partition)).set(held_s)
        self._oldest.labels(str(partition)).set(oldest_s)

    def lost(self, partition: int) -> None:
        """Show nothing more of a partition: another worker does."""
        for gauge in (self._open, self._waiting, self._unpublished, self._held, self._held_for, self._oldest):
            with suppress(KeyError):
                gauge.remove(str(partition))

    def open_turns(self, partition: int, count: int) -> None:
        """Note how many turns of a partition are open."""
        self._open.labels(str(partition)).set(count)

    def waiting(self, partition: int, sources: int, effects: int) -> None:
        """Note how much of a partition is in memory and on its way."""
        self._waiting.labels(str(partition)).set(sources)
        self._unpublished.labels(str(partition)).set(effects)

    def ungated(self, yes: bool) -> None:
        """Say whether answers pass unjudged."""
        self._ungated.set(1 if yes else 0)

    def judged_in_shadow(self, result: str) -> None:
        """Count an answer that was judged in the shadow: same, different, failed or left out."""
        self._shadow.labels(result).inc()

    def usage_counted(self, lag_s: float) -> None:
        """Note how old a usage record was when it was counted."""
        self._usage_lag.observe(max(0.0, lag_s))


class ModelMetrics(WorkerMetrics, ProviderObserver):
    """The model runner's metrics, in a registry of their own. Providers are those that the settings name."""

    def __init__(self) -> None:
        super().__init__("models")
        self._calls = self.counter("turngate_provider_calls_total")
        self._ended = self.counter("turngate_provider_outcomes_total")
        self._turned_away = self.counter("turngate_provider_turned_away_total")
        self._retries_left = self.gauge("turngate_retry_budget")
        self._open = self.gauge("turngate_circuit_open")
        self._seconds = self.histogram("turngate_model_call_seconds")
        self._under_way = self.gauge("turngate_open_model_calls")

    def called(self, provider: str, *, retry: bool) -> None:
        """Count a call."""
        self._calls.labels(provider, "yes" if retry else "no").inc()
        self._under_way.labels(provider).inc()

    def ended(self, provider: str, outcome: CallOutcome) -> None:
        """Count how a call ended."""
        self._ended.labels(provider, outcome).inc()

    def took(self, provider: str, seconds: float) -> None:
        """Note how long a call took."""
        self._seconds.labels(provider).observe(max(0.0, seconds))
        self._under_way.labels(provider).dec()

    def turned_away(self, provider: str, error: str) -> None:
        """Count a call that was not made."""
        self._turned_away.labels(provider, error).inc()

    def state(self, provider: str, *, retries_left: float, circuit_open: bool) -> None:
        """Show what the guard of a provider has come to."""
        self._retries_left.labels(provider).set(retries_left)
        self._open.labels(provider).set(1 if circuit_open else 0)


class ToolMetrics(WorkerMetrics, ToolObserver):
    """The tool runner's metrics, in a registry of their own."""

    def __init__(self) -> None:
        super().__init__("tools")
        self._calls = self.counter("turngate_tool_calls_total")
        self._seconds = self.histogram("turngate_tool_call_seconds")
        self._open = self.gauge("turngate_open_tool_calls")

    def ended(self, tool: str, outcome: ToolOutcome, seconds: float) -> None:
        """Count a call that has ended."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def open_calls(self, count: int) -> None:
        """Note how many calls are open."""
        self._open.set(count)


class GatewayMetrics(RoleMetrics):
    """The gateway's metrics."""

    def __init__(self, streams: Callable[[], int]) -> None:
        super().__init__("gateway")
        self._requests = self.counter("turngate_gateway_requests_total")
        self._seconds = self.histogram("turngate_gateway_response_seconds")
        self.gauge("turngate_gateway_streams").set_function(lambda: float(streams()))

    def answered(self, route: str, status: int, seconds: float | None) -> None:
        """Count a request, and note how long the beginning of its answer took, if there was one."""
        self._requests.labels(route, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(route).observe(max(0.0, seconds))
