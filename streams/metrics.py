"""Every metric there is, and the only place that knows Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from streams.models.guard import Outcome as CallOutcome
from streams.models.guard import ProviderObserver
from streams.settings import SettingsError
from streams.tools.answers import Outcome as ToolOutcome
from streams.tools.ports import ToolObserver
from streams.turns.desk import Plan
from streams.turns.observer import Observer
from topics.records import Decision


class MetricsPortError(SettingsError):
    """`/metrics` cannot be served on the port that is set; the message names it and says what to do."""


class Metrics(Observer):
    """The turn worker's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._ungated = Gauge(
            "turngate_ungated",
            "1 while no output processor is declared, so that answers pass unjudged",
            registry=self.registry,
        )
        self._turns = Counter("turngate_turns", "Turns ended, by outcome", ["outcome"], registry=self.registry)
        self._open = Gauge(
            "turngate_open_turns", "Turns that have no outcome yet, by partition", ["partition"], registry=self.registry
        )
        self._waiting = Gauge(
            "turngate_waiting_inputs",
            "Records and news that are read and not journaled yet, by partition",
            ["partition"],
            registry=self.registry,
        )
        self._unpublished = Gauge(
            "turngate_unpublished_records",
            "Journal records whose effects are not confirmed yet, by partition",
            ["partition"],
            registry=self.registry,
        )
        self._sources = Counter("turngate_source_records", "Source records taken in", registry=self.registry)
        self._dropped = Counter(
            "turngate_frames_dropped",
            "Frames that changed nothing: repeated, late or of a past attempt",
            registry=self.registry,
        )
        self._refused = Counter(
            "turngate_dead_letters", "Source records refused, by reason", ["error"], registry=self.registry
        )
        self._skipped = Counter(
            "turngate_processor_skips", "Processors that failed and were skipped", ["processor"], registry=self.registry
        )
        self._journaled = Counter("turngate_journal_records", "Records appended to the journal", registry=self.registry)
        self._usage_lag = Histogram(
            "turngate_usage_lag_seconds",
            "From when any worker decided on a usage record to when this one counted it from the topic",
            buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60),
            registry=self.registry,
        )

    def serve(self, port: int | None) -> None:
        """Serve `/metrics` on `port`, if there is one.

        Raises:
            MetricsPortError: the port is taken, or not for this user to listen on, or no port.
        """
        _serve(self.registry, port)

    def applied(self, plan: Plan, sources: int) -> None:
        """Count what a plan brought."""
        self._sources.inc(sources)
        self._dropped.inc(plan.dropped)
        self._journaled.inc(len(plan.journal))
        for refused in plan.refused:
            self._refused.labels(refused.error).inc()
        for outgoing in plan.outgoing:
            for effect in outgoing.effects:
                record = effect.record
                if effect.terminal:
                    self._turns.labels(str(getattr(record, "kind", ""))).inc()
                elif isinstance(record, Decision) and record.verdict == "skipped":
                    self._skipped.labels(record.processor).inc()

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

    def usage_counted(self, lag_s: float) -> None:
        """Note how old a usage record was when it was counted."""
        self._usage_lag.observe(max(0.0, lag_s))


class ModelMetrics(ProviderObserver):
    """The model runner's metrics, in a registry of their own. Providers are those that the settings name."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "turngate_provider_calls",
            "Model calls made, by provider and whether it had been asked before in the step",
            ["provider", "retry"],
            registry=self.registry,
        )
        self._ended = Counter(
            "turngate_provider_outcomes",
            "Model calls ended: answered, refused by a provider that is there, down, or given up before anybody could tell",
            ["provider", "outcome"],
            registry=self.registry,
        )
        self._turned_away = Counter(
            "turngate_provider_turned_away",
            "Model calls that failed at once without being made, by reason",
            ["provider", "error"],
            registry=self.registry,
        )
        self._retries_left = Gauge(
            "turngate_retry_budget",
            "Retries that a provider could be sent when it was last called",
            ["provider"],
            registry=self.registry,
        )
        self._open = Gauge(
            "turngate_circuit_open",
            "1 while a provider is left alone because it is down, until a call that tries it is answered",
            ["provider"],
            registry=self.registry,
        )

    def serve(self, port: int | None) -> None:
        """Serve `/metrics` on `port`, if there is one.

        Raises:
            MetricsPortError: the port is taken, or not for this user to listen on, or no port.
        """
        _serve(self.registry, port)

    def called(self, provider: str, *, retry: bool) -> None:
        """Count a call."""
        self._calls.labels(provider, "yes" if retry else "no").inc()

    def ended(self, provider: str, outcome: CallOutcome) -> None:
        """Count how a call ended."""
        self._ended.labels(provider, outcome).inc()

    def turned_away(self, provider: str, error: str) -> None:
        """Count a call that was not made."""
        self._turned_away.labels(provider, error).inc()

    def state(self, provider: str, *, retries_left: float, circuit_open: bool) -> None:
        """Show what the guard of a provider has come to."""
        self._retries_left.labels(provider).set(retries_left)
        self._open.labels(provider).set(1 if circuit_open else 0)


class ToolMetrics(ToolObserver):
    """The tool runner's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "turngate_tool_calls",
            "Tool calls ended, by tool (empty: there is none of that name) and outcome",
            ["tool", "outcome"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "turngate_tool_call_seconds",
            "From the start of a tool call to its confirmed result, waiting for a process included",
            ["tool"],
            buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180),
            registry=self.registry,
        )
        self._open = Gauge("turngate_open_tool_calls", "Tool calls that have no result yet", registry=self.registry)

    def serve(self, port: int | None) -> None:
        """Serve `/metrics` on `port`, if there is one.

        Raises:
            MetricsPortError: the port is taken, or not for this user to listen on, or no port.
        """
        _serve(self.registry, port)

    def ended(self, tool: str, outcome: ToolOutcome, seconds: float) -> None:
        """Count a call that has ended."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def open_calls(self, count: int) -> None:
        """Note how many calls are open."""
        self._open.set(count)


def _serve(registry: CollectorRegistry, port: int | None) -> None:
    if port is None:
        return
    try:
        start_http_server(port, registry=registry)
    except (OSError, OverflowError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else None
        raise MetricsPortError(
            f"TURNGATE_METRICS_PORT: cannot listen on port {port} ({why or 'no such port'}): stop what listens there, "
            "or set another port"
        ) from None
