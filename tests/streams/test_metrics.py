"""Metrics: what a plan brings is counted, under names that stay, and ids are never labels."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import generate_latest

from processors.outcomes import Blocked, Proceeded, Report
from streams.gate import events
from streams.gate.policy import Policy
from streams.metric_list import BY_NAME, METRICS
from streams.metrics import GatewayMetrics, Metrics, ModelMetrics, RoleMetrics, ToolMetrics
from streams.turns.inputs import News
from tests.streams.turns.desks import NOW, a_desk, frame_source, key, source
from tests.streams.turns.simulation import cancel, turn
from topics.content import TextPart


def value(metrics: RoleMetrics, name: str, **labels: str) -> float | None:
    """Return a sample."""
    return metrics.registry.get_sample_value(name, labels)


def test_what_a_plan_brings_is_counted() -> None:
    """Sources, journal records, refusals by reason, dropped frames, turns by outcome."""
    metrics, desk = Metrics(), a_desk()
    metrics.applied(desk.take([source(turn()), source(b"not json", 1), frame_source(0, "nobody")], NOW), 3)
    metrics.applied(desk.take([frame_source(0, text="a"), frame_source(1, text="b")], NOW), 2)
    metrics.applied(desk.take([frame_source(0, text="a")], NOW), 1)
    metrics.applied(desk.take([source(cancel(), 2)], NOW), 1)
    assert value(metrics, "turngate_source_records_total") == 7
    assert value(metrics, "turngate_journal_records_total") == 4
    assert value(metrics, "turngate_frames_dropped_total") == 1
    assert value(metrics, "turngate_dead_letters_total", error="MalformedRecordError") == 1
    assert value(metrics, "turngate_dead_letters_total", error="UnknownTurnError") == 1
    assert value(metrics, "turngate_turns_total", outcome="cancelled") == 1


def test_skipped_processors_are_counted_by_name() -> None:
    """A pre-processor that fails is skipped, and must be seen."""
    metrics, desk = Metrics(), a_desk(Policy(has_pre=True))
    desk.take([source(turn())], NOW)
    reports = (Report("tagger", "1", "skipped", error="ValueError"), Report("other", "1", "proceed"))
    outcome = Proceeded((TextPart(text="hello"),), reports=reports)
    metrics.applied(desk.take([News(key(), events.PreDone(outcome))], NOW), 0)
    assert value(metrics, "turngate_processor_skips_total", processor="tagger") == 1
    assert value(metrics, "turngate_processor_skips_total", processor="other") is None


def test_open_turns_are_shown_by_partition_and_ungated_workers_are_seen() -> None:
    """Both go up and down."""
    metrics = Metrics()
    metrics.open_turns(2, 5)
    assert value(metrics, "turngate_open_turns", partition="2") == 5
    metrics.open_turns(2, 0)
    assert value(metrics, "turngate_open_turns", partition="2") == 0
    metrics.ungated(yes=True)
    assert value(metrics, "turngate_ungated") == 1
    metrics.ungated(yes=False)
    assert value(metrics, "turngate_ungated") == 0


def test_what_is_in_memory_and_on_its_way_is_shown_by_partition() -> None:
    """Read and not journaled, journaled and not published."""
    metrics = Metrics()
    metrics.waiting(1, 7, 9)
    assert value(metrics, "turngate_waiting_inputs", partition="1") == 7
    assert value(metrics, "turngate_unpublished_records", partition="1") == 9


def test_no_id_and_no_content_is_exposed() -> None:
    """Labels are of closed lists: topics, outcomes, error classes, processors, partitions."""
    metrics, desk = Metrics(), a_desk()
    request = turn("id-of-the-turn", message="a very private sentence")
    metrics.applied(desk.take([source(request), source(b'{"thread_id": "h", "turn_id": "id-2"}', 1)], NOW), 2)
    shown = generate_latest(metrics.registry).decode()
    assert "turngate_turns_total" in shown
    assert "id-" not in shown
    assert "private" not in shown


def test_registries_are_apart() -> None:
    """Two workers in one process, as in tests, do not count for each other."""
    one, other = Metrics(), Metrics()
    one.ungated(yes=True)
    assert value(other, "turngate_ungated") == 0


def test_where_turns_fail_is_counted() -> None:
    """By error, phase and processor; and what was spent until then."""
    metrics, desk = Metrics(), a_desk(Policy(has_pre=True))
    metrics.applied(desk.take([source(turn())], NOW), 1)
    blocked = Blocked("bouncer", "No.")
    metrics.applied(desk.take([News(key(), events.PreDone(blocked))], NOW), 0)
    assert value(metrics, "turngate_refusals_total", outcome="blocked", processor="bouncer") == 1
    assert value(metrics, "turngate_turns_total", outcome="blocked") == 1


def test_what_partitions_hold_is_shown_until_they_move_away() -> None:
    """A figure of a partition that another worker owns would be counted twice."""
    metrics = Metrics()
    metrics.open_turns(3, 1)
    metrics.held(3, 120, 4.5, 2.5)
    assert value(metrics, "turngate_held_characters", partition="3") == 120
    assert value(metrics, "turngate_oldest_turn_seconds", partition="3") == 4.5
    assert value(metrics, "turngate_held_seconds", partition="3") == 2.5
    metrics.lost(3)
    metrics.lost(3)
    assert value(metrics, "turngate_held_characters", partition="3") is None
    assert value(metrics, "turngate_open_turns", partition="3") is None


def test_how_far_behind_a_worker_is_is_shown_for_what_it_reads() -> None:
    """What it read before and reads no more is gone."""
    metrics = ToolMetrics()
    metrics.assigned(2)
    metrics.lag({("p.tool-calls", 0): 7})
    assert value(metrics, "turngate_lag_records", topic="p.tool-calls", partition="0") == 7
    metrics.lag({("p.tool-calls", 1): 0})
    assert value(metrics, "turngate_lag_records", topic="p.tool-calls", partition="0") is None
    assert value(metrics, "turngate_owned_partitions") == 2
    assert value(metrics, "turngate_rebalances_total") == 1


def everything() -> dict[str, RoleMetrics]:
    """Return the metrics of every role."""
    return {"turns": Metrics(), "models": ModelMetrics(), "tools": ToolMetrics(), "gateway": GatewayMetrics(lambda: 0)}


def test_each_role_has_the_metrics_that_the_list_says() -> None:
    """All of them, with their labels and their meaning, and no other."""
    for role, metrics in everything().items():
        collectors: dict[Any, list[str]] = dict(metrics.registry._collector_to_names)
        made = {
            name: (collector._type, tuple(collector._labelnames), collector._documentation)
            for collector, names in collectors.items()
            for name in names
            if name in BY_NAME
        }
        listed = [metric for metric in METRICS if role in metric.roles]
        assert made == {metric.name: (metric.kind, metric.labels, metric.meaning) for metric in listed}


def test_a_metric_that_is_not_listed_is_not_made() -> None:
    """Nor one of another role or kind."""
    metrics = ToolMetrics()
    with pytest.raises(KeyError):
        metrics.gauge("turngate_new")
    with pytest.raises(ValueError, match="turngate_turns_total is a counter of turns"):
        metrics.counter("turngate_turns_total")


def test_what_becomes_of_a_provider_s_calls_is_counted() -> None:
    """Made or not, retries apart, how they ended; and what its guard has come to goes up and down."""
    metrics = ModelMetrics()
    metrics.called("spare", retry=False)
    metrics.called("spare", retry=True)
    metrics.called("spare", retry=True)
    metrics.ended("spare", "down")
    metrics.took("spare", 0.75)
    assert value(metrics, "turngate_open_model_calls", provider="spare") == 2
    assert value(metrics, "turngate_model_call_seconds_sum", provider="spare") == 0.75
    metrics.turned_away("spare", "CircuitOpenError")
    metrics.state("spare", retries_left=29.5, circuit_open=True)
    assert value(metrics, "turngate_provider_calls_total", provider="spare", retry="no") == 1
    assert value(metrics, "turngate_provider_calls_total", provider="spare", retry="yes") == 2
    assert value(metrics, "turngate_provider_outcomes_total", provider="spare", outcome="down") == 1
    assert value(metrics, "turngate_provider_turned_away_total", provider="spare", error="CircuitOpenError") == 1
    assert value(metrics, "turngate_retry_budget", provider="spare") == 29.5
    assert value(metrics, "turngate_circuit_open", provider="spare") == 1
    metrics.state("spare", retries_left=30, circuit_open=False)
    assert value(metrics, "turngate_circuit_open", provider="spare") == 0


def test_what_zombies_wrote_is_counted_when_it_is_asked_for() -> None:
    """Once each, however often that is."""
    metrics, found = ModelMetrics(), [0]
    metrics.count_void(lambda: found[0])
    for so_far, counted in ((0, 0), (3, 3), (3, 3), (4, 4)):
        found[0] = so_far
        metrics.render()
        assert value(metrics, "turngate_void_records_total") == counted


def test_requests_to_the_gateway_are_counted_by_route_and_status() -> None:
    """And timed, where they were answered."""
    metrics = GatewayMetrics(lambda: 0)
    metrics.answered("/v1/turns", 202, 0.25)
    metrics.answered("/v1/turns", 0, None)
    assert value(metrics, "turngate_gateway_requests_total", route="/v1/turns", status="202") == 1
    assert value(metrics, "turngate_gateway_requests_total", route="/v1/turns", status="0") == 1
    assert value(metrics, "turngate_gateway_response_seconds_count", route="/v1/turns") == 1


def test_tool_calls_are_counted_by_tool_and_outcome() -> None:
    """And timed by tool; how many are open is one number."""
    metrics = ToolMetrics()
    metrics.open_calls(2)
    metrics.ended("add", "answered", 0.02)
    metrics.ended("add", "timed_out", 30.0)
    metrics.ended("", "refused", 0.0)
    registry = metrics.registry
    assert registry.get_sample_value("turngate_open_tool_calls") == 2
    for tool, outcome in (("add", "answered"), ("add", "timed_out"), ("", "refused")):
        assert registry.get_sample_value("turngate_tool_calls_total", {"tool": tool, "outcome": outcome}) == 1
    assert registry.get_sample_value("turngate_tool_call_seconds_sum", {"tool": "add"}) == 30.02
    assert registry.get_sample_value("turngate_tool_call_seconds_bucket", {"tool": "add", "le": "0.05"}) == 1


def test_how_late_usage_is_counted_is_seen() -> None:
    """By workers whose clocks differ, too: a record of the future is not late."""
    metrics = Metrics()
    metrics.usage_counted(0.2)
    metrics.usage_counted(-3.0)
    assert value(metrics, "turngate_usage_lag_seconds_count") == 2
    assert value(metrics, "turngate_usage_lag_seconds_sum") == pytest.approx(0.2)
