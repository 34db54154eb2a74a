"""The metrics as they are written down, shown and watched: none that does not exist, and none forgotten."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import promql_parser
import pytest
import yaml

from streams.metric_list import BY_NAME, METRICS, Metric
from tests.docs.markdown import ROOT, code, sections

PROMTOOL = shutil.which("promtool")
PAGE = ROOT / "docs" / "metrics.md"
DASHBOARD = json.loads((ROOT / "deploy/grafana/dashboards/turngate.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]

#: What Prometheus itself knows of each process.
_OF_PROMETHEUS = frozenset({"up"})
_SAMPLES: dict[str, Metric] = {sample: metric for metric in METRICS for sample in metric.samples}
#: Labels that every sample gets when it is scraped, and those of buckets.
_SCRAPED = frozenset({"instance", "job"})
#: Grafana puts in an interval for this one.
_INTERVAL = "$__rate_interval"


def panels() -> Iterator[dict[str, Any]]:
    """Give every panel that asks something."""
    return (panel for panel in DASHBOARD["panels"] if panel["type"] != "row")


def asked() -> dict[str, str]:
    """Return every expression, by who asks it."""
    found = {f"alert {rule['alert']}": rule["expr"] for rule in RULES}
    for panel in panels():
        for target in panel["targets"]:
            found[f"panel {panel['title']} {target['refId']}"] = target["expr"].replace(_INTERVAL, "5m")
    return found


def test_every_metric_is_written_down() -> None:
    """Name, type, labels, roles and meaning, in the order of the list, and no other."""
    rows = [
        (code(row["metric"]), row["type"], row["labels"], row["roles"], row["what it is"])
        for row in sections(PAGE)["All of them"].rows
    ]
    assert rows == [
        (one.name, one.kind, ", ".join(f"`{label}`" for label in one.labels), ", ".join(one.roles), one.meaning)
        for one in METRICS
    ]


@pytest.mark.parametrize(("who", "expression"), asked().items(), ids=list(asked()))
def test_what_is_asked_can_be_answered(who: str, expression: str) -> None:
    """It is PromQL, and asks for samples that there are, by labels that these have."""
    parsed = promql_parser.parse(expression)
    assert parsed is not None, who
    names = set(re.findall(r"\bturngate_\w+", expression)) | (_OF_PROMETHEUS & set(re.findall(r"\b\w+\b", expression)))
    assert names
    assert names - _OF_PROMETHEUS <= set(_SAMPLES), who
    allowed = _SCRAPED | {label for name in names - _OF_PROMETHEUS for label in _SAMPLES[name].labels}
    if any(name.endswith("_bucket") for name in names):
        allowed |= {"le"}
    used = {
        label.strip()
        for found in re.findall(r"\b(?:by|on|group_left)\s*\(([^)]*)\)", expression)
        for label in found.split(",")
    }
    used |= set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
    assert used <= allowed, who


def test_counters_are_asked_for_their_rate_and_buckets_for_quantiles() -> None:
    """A counter's value says nothing but how long its process has run."""
    for who, expression in asked().items():
        for name in re.findall(r"\bturngate_\w+", expression):
            if _SAMPLES[name].kind == "counter":
                assert re.search(rf"(rate|increase)\({name}\b", expression), (who, name)
            if name.endswith("_bucket"):
                assert "histogram_quantile(" in expression, (who, name)


def test_the_dashboard_shows_every_metric() -> None:
    """One that nobody looks at need not be counted; but when a process started is for an alert."""
    shown = {
        _SAMPLES[name].name
        for panel in panels()
        for one in panel["targets"]
        for name in re.findall(r"turngate_\w+", one["expr"])
    }
    assert set(BY_NAME) - shown == {"turngate_start_time_seconds"}


def test_panels_lie_side_by_side() -> None:
    """None over another, none outside, each with a number of its own."""
    cells: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        mine = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not mine & cells, panel["title"]
        cells |= mine
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_every_alert_says_what_it_means_and_what_to_do() -> None:
    """By names that are unique; those the page speaks of are there."""
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description"}
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert set(re.findall(r"`(Turngate\w+)`", PAGE.read_text(encoding="utf-8"))) <= set(names)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on the path (Debian's package prometheus has it)")
@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", "--lint-fatal", "deploy/prometheus/alerts.yml"),
        ("check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml"),
        ("test", "rules", "tests/docs/alerts_test.yml"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_prometheus_own_tool_takes_them(words: Sequence[str]) -> None:
    """The rules, the configuration, and what becomes of alerts when samples are as they say."""
    done = subprocess.run([str(PROMTOOL), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_samples_for_alerts_are_of_metrics_that_there_are() -> None:
    """And every alert that they expect is one."""
    cases = yaml.safe_load((ROOT / "tests/docs/alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    series = {one["series"].partition("{")[0] for case in cases for one in case["input_series"]}
    assert series <= set(_SAMPLES)
    alerts = {test["alertname"] for case in cases for test in case["alert_rule_test"]}
    assert alerts <= {rule["alert"] for rule in RULES}


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    """Of a known schema, with no identity of an installation, every query with the source that a person can choose."""
    assert DASHBOARD["schemaVersion"] >= 36  # from here on a data source is an object
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", DASHBOARD["uid"])
    assert "id" not in DASHBOARD
    (chosen,) = DASHBOARD["templating"]["list"]
    assert (chosen["name"], chosen["type"], chosen["query"]) == ("datasource", "datasource", "prometheus")
    source = {"type": "prometheus", "uid": "${datasource}"}
    for panel in panels():
        assert panel["type"] in {"stat", "timeseries"}, panel["title"]
        assert isinstance(panel["id"], int)
        assert panel["datasource"] == source, panel["title"]
        assert [target["datasource"] for target in panel["targets"]] == [source] * len(panel["targets"]), panel["title"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0, panel["title"]
        units = {"short", "s", "reqps", "ops", "percentunit", "none"}
        assert panel["fieldConfig"]["defaults"].get("unit", "short") in units, panel["title"]


def test_seconds_are_shown_as_seconds() -> None:
    """A panel of quantiles of seconds says so, and one of counts does not."""
    for panel in panels():
        seconds = {"_seconds" in target["expr"] and "_count" not in target["expr"] for target in panel["targets"]}
        assert seconds == {panel["fieldConfig"]["defaults"].get("unit") == "s"}, panel["title"]
