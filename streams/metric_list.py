"""The closed list of metrics: what there is under which name, with which labels, on which roles, and what it means.

`docs/metrics.md`, the dashboard and the alert rules are held to it by tests; `streams.metrics` makes what is here alone.
No label holds an id of a tenant, thread, turn or user: their number has no bound, and whose they are is nobody's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

Role = Literal["turns", "models", "tools", "gateway"]
Kind = Literal["counter", "gauge", "histogram"]

_WORKERS: Final[tuple[Role, ...]] = ("turns", "models", "tools")
_ALL: Final[tuple[Role, ...]] = (*_WORKERS, "gateway")
_TURNS: Final[tuple[Role, ...]] = ("turns",)
_MODELS: Final[tuple[Role, ...]] = ("models",)
_TOOLS: Final[tuple[Role, ...]] = ("tools",)
_GATEWAY: Final[tuple[Role, ...]] = ("gateway",)

_FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SLOW: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_TOOL: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)
_LAG: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as Prometheus sees it; a counter's name ends in `_total`. `buckets` are a histogram's, ascending."""

    name: str
    kind: Kind
    roles: tuple[Role, ...]
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def samples(self) -> tuple[str, ...]:
        """The names that its samples have."""
        if self.kind == "histogram":
            return tuple(f"{self.name}{end}" for end in ("_bucket", "_count", "_sum"))
        return (self.name,)


METRICS: Final[tuple[Metric, ...]] = (
    # every role
    Metric("turngate_build_info", "gauge", _ALL, "1, for the version and role of this process", ("version", "role")),
    Metric("turngate_ready", "gauge", _ALL, "1 while the process does its work, as `/ready` says"),
    Metric("turngate_start_time_seconds", "gauge", _ALL, "when the process started, in seconds since the epoch"),
    # every worker
    Metric("turngate_owned_partitions", "gauge", _WORKERS, "partitions that the worker owns"),
    Metric("turngate_rebalances_total", "counter", _WORKERS, "how often the worker's partitions were assigned anew"),
    Metric(
        "turngate_lag_records",
        "gauge",
        _WORKERS,
        "records that are on an assigned partition and not read yet, counted every 15 seconds",
        ("topic", "partition"),
    ),
    Metric(
        "turngate_void_records_total",
        "counter",
        _WORKERS,
        "journal records that superseded workers (zombies) still wrote and that count for nothing, found by their successor",
    ),
    Metric("turngate_dead_letters_total", "counter", _WORKERS, "source records refused, by reason", ("error",)),
    # turn workers
    Metric(
        "turngate_ungated", "gauge", _TURNS, "1 while no output processor is declared, so that answers pass unjudged"
    ),
    Metric("turngate_turns_total", "counter", _TURNS, "turns ended, by outcome", ("outcome",)),
    Metric(
        "turngate_failures_total",
        "counter",
        _TURNS,
        "turns that failed, by error and by where it happened, empty where that is nowhere in particular",
        ("error", "phase", "processor"),
    ),
    Metric(
        "turngate_refusals_total",
        "counter",
        _TURNS,
        "turns that a processor blocked or rejected",
        ("outcome", "processor"),
    ),
    Metric(
        "turngate_processor_skips_total", "counter", _TURNS, "processors that failed and were skipped", ("processor",)
    ),
    Metric("turngate_open_turns", "gauge", _TURNS, "turns that have no outcome yet, by partition", ("partition",)),
    Metric(
        "turngate_oldest_turn_seconds",
        "gauge",
        _TURNS,
        "how long the oldest open turn of a partition has been open, whatever it waits for",
        ("partition",),
    ),
    Metric(
        "turngate_held_characters",
        "gauge",
        _TURNS,
        "text that models wrote and readers have not got, by partition: held by the gate or on its way",
        ("partition",),
    ),
    Metric(
        "turngate_held_seconds",
        "gauge",
        _TURNS,
        "how long the turn of a partition that has been held longest has had text that readers have not got, since it last "
        "released any",
        ("partition",),
    ),
    Metric("turngate_released_characters_total", "counter", _TURNS, "text released to readers"),
    Metric("turngate_resets_total", "counter", _TURNS, "times that released text was taken back for a new attempt"),
    Metric(
        "turngate_first_release_seconds",
        "histogram",
        _TURNS,
        "from when a turn was taken in to its first released text",
        buckets=_SLOW,
    ),
    Metric(
        "turngate_added_latency_seconds",
        "histogram",
        _TURNS,
        "from when a record was read to when the broker has what is released because of it; of a batch, its oldest record",
        buckets=_FAST,
    ),
    Metric(
        "turngate_journal_append_seconds", "histogram", _TURNS, "how long the journal took to be durable", buckets=_FAST
    ),
    Metric("turngate_journal_records_total", "counter", _TURNS, "records appended to the journal"),
    Metric("turngate_source_records_total", "counter", _TURNS, "source records taken in"),
    Metric(
        "turngate_frames_dropped_total",
        "counter",
        _TURNS,
        "frames that changed nothing: repeated, late or of a past attempt",
    ),
    Metric(
        "turngate_waiting_inputs",
        "gauge",
        _TURNS,
        "records and news that are read and not journaled yet, by partition",
        ("partition",),
    ),
    Metric(
        "turngate_unpublished_records",
        "gauge",
        _TURNS,
        "journal records whose effects are not confirmed yet, by partition",
        ("partition",),
    ),
    Metric(
        "turngate_tokens_total",
        "counter",
        _TURNS,
        "tokens of model calls, and whether they are a provider's count or our estimate",
        ("direction", "estimated"),
    ),
    Metric(
        "turngate_usage_lag_seconds",
        "histogram",
        _TURNS,
        "from when any worker decided on a usage record to when this one counted it from the topic",
        buckets=_LAG,
    ),
    Metric(
        "turngate_shadow_answers_total",
        "counter",
        _TURNS,
        "answers that a version in the shadow judged too, by what came of it: same, different, failed, left out",
        ("result",),
    ),
    # model runners
    Metric(
        "turngate_provider_calls_total",
        "counter",
        _MODELS,
        "model calls made, by provider and whether it had been asked before in the step",
        ("provider", "retry"),
    ),
    Metric(
        "turngate_provider_outcomes_total",
        "counter",
        _MODELS,
        "model calls ended: answered, refused by a provider that is there, down, or given up before anybody could tell",
        ("provider", "outcome"),
    ),
    Metric(
        "turngate_provider_turned_away_total",
        "counter",
        _MODELS,
        "model calls that failed at once without being made, by reason",
        ("provider", "error"),
    ),
    Metric(
        "turngate_retry_budget",
        "gauge",
        _MODELS,
        "retries that a provider could be sent when it was last called",
        ("provider",),
    ),
    Metric(
        "turngate_circuit_open",
        "gauge",
        _MODELS,
        "1 while a provider is left alone because it is down, until a call that tries it is answered",
        ("provider",),
    ),
    Metric(
        "turngate_model_call_seconds",
        "histogram",
        _MODELS,
        "from when a provider is asked to the end of its answer, however it ends",
        ("provider",),
        _SLOW,
    ),
    Metric("turngate_open_model_calls", "gauge", _MODELS, "calls that a provider has not ended yet", ("provider",)),
    # tool runners
    Metric(
        "turngate_tool_calls_total",
        "counter",
        _TOOLS,
        "tool calls ended, by tool (empty: there is none of that name) and outcome",
        ("tool", "outcome"),
    ),
    Metric(
        "turngate_tool_call_seconds",
        "histogram",
        _TOOLS,
        "from the start of a tool call to its confirmed result, waiting for a process included",
        ("tool",),
        _TOOL,
    ),
    Metric("turngate_open_tool_calls", "gauge", _TOOLS, "tool calls that have no result yet"),
    # gateways
    Metric("turngate_gateway_streams", "gauge", _GATEWAY, "streams that are open"),
    Metric(
        "turngate_gateway_requests_total",
        "counter",
        _GATEWAY,
        "requests answered, by the pattern of their path (empty: there is none) and status (0: the client left before)",
        ("route", "status"),
    ),
    Metric(
        "turngate_gateway_response_seconds",
        "histogram",
        _GATEWAY,
        "from a request to the beginning of its answer, by the pattern of its path",
        ("route",),
        _LAG,
    ),
)

BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in METRICS}
