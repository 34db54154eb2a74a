"""The chart: rendered by Helm itself for several files of values, and held to Kubernetes' schemas and its own promises."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import helm_python
import jsonschema
import kubernetes_validate
import pytest
import yaml

from streams.settings import PREFIX, Settings
from tests.architecture.sources import ROOT
from tests.deploy.operators import SCHEMAS as OF_OPERATORS

CHART = ROOT / "helm" / "turngate"
EXAMPLES = sorted((ROOT / "helm" / "examples").glob("*.yaml"))
ROLES = ("turns", "models", "tools", "gateway")
#: The oldest Kubernetes that the chart is for and that there are schemas of, and a newer one.
KUBERNETES = ("1.27", "1.33")
Manifest = Mapping[str, Any]


def render(values: Mapping[str, Any], name: str = "demo") -> list[Manifest]:
    """Return what Helm makes of the chart.

    Raises:
        helm_python.HelmError: the values do not fit its schema, or the chart refuses them.
    """
    chart = helm_python.Chart.load(CHART)
    chart.validate_schema(dict(values))
    files = chart.render(dict(values), name=name, namespace="prod")
    documents = [
        one for file, text in sorted(files.items()) if file.endswith(".yaml") for one in yaml.safe_load_all(text)
    ]
    return [one for one in documents if one]


def values(name: str) -> dict[str, Any]:
    """Return an example's values."""
    read: dict[str, Any] = yaml.safe_load((ROOT / "helm" / "examples" / f"{name}.yaml").read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda path: path.stem)
def manifests(request: pytest.FixtureRequest) -> list[Manifest]:
    """Give what is rendered for each example."""
    return render(values(cast("Path", request.param).stem))


def of_kind(manifests: Sequence[Manifest], kind: str) -> dict[str, Manifest]:
    """Return the manifests of a kind, by name."""
    return {one["metadata"]["name"]: one for one in manifests if one["kind"] == kind}


def pods(manifests: Sequence[Manifest]) -> Iterator[tuple[str, Manifest, Manifest]]:
    """Give each pod that would run: its name, its spec, and its container."""
    for one in manifests:
        if one["kind"] in {"Deployment", "Job"}:
            spec = one["spec"]["template"]["spec"]
            (container,) = spec["containers"]
            yield container["name"], spec, container


def test_the_linter_finds_no_fault() -> None:
    """Not even in strictness."""
    report = helm_python.lint(CHART, values("production"), strict=True)
    assert report["errors"] == []
    assert [one for one in report["messages"] if one["severity"] > 1] == []


@pytest.mark.parametrize("version", KUBERNETES)
def test_every_manifest_is_one_of_kubernetes(manifests: Sequence[Manifest], version: str) -> None:
    """Without a field that it does not know."""
    checked = [one for one in manifests if one["kind"] not in OF_OPERATORS]
    assert checked
    for one in checked:
        kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("example", ["minimal", "production", "certificates", "tokens"])
def test_what_is_for_operators_is_as_they_have_it(example: str) -> None:
    """Without a field or a trigger's parameter that they do not know; and what a trigger logs in with is there."""
    manifests = render(with_operators(example))
    found = [one for one in manifests if one["kind"] in OF_OPERATORS]
    assert {one["kind"] for one in found} >= {"ScaledObject", "ServiceMonitor", "PrometheusRule"}
    for one in found:
        jsonschema.Draft7Validator(OF_OPERATORS[one["kind"]]).validate(one)
    authentications = of_kind(manifests, "TriggerAuthentication")
    for one in of_kind(manifests, "ScaledObject").values():
        for trigger in one["spec"]["triggers"]:
            named = trigger.get("authenticationRef", {}).get("name")
            assert (named is None) == (example == "minimal")
            assert named is None or named in authentications or example == "tokens"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ScaledObject", {"spec": {"minReplicas": 1}}),
        ("ScaledObject", {"spec": {"maxReplicaCount": "24"}}),
        ("ScaledObject", {"spec": {"triggers": [{"type": "kafka", "metadata": {"lagThreshold": 5}}]}}),
        ("TriggerAuthentication", {"spec": {"secretTargetRef": [{"parameter": "pass", "name": "a", "key": "b"}]}}),
        ("ServiceMonitor", {"spec": {"endpoints": [{"port": 9090}]}}),
        ("PrometheusRule", {"spec": {"groups": [{"name": "turngate"}]}}),
    ],
)
def test_what_operators_would_refuse_is_noticed(name: str, change: Mapping[str, Any]) -> None:
    """The schemas are worth something."""
    (one, *_) = of_kind(render(with_operators("production")), name).values()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(OF_OPERATORS[name]).validate(merged(one, change))


def with_operators(example: str) -> dict[str, Any]:
    """Return an example's values with everything that is for operators."""
    scaling: dict[str, Any] = {"kind": "keda", "min": 2, "max": 4}
    if example == "tokens":
        scaling["kedaAuthentication"] = "ours"
    watched = {"serviceMonitor": {"enabled": True}, "rules": {"enabled": True}}
    return merged(values(example), {"roles": {"turns": {"autoscaling": scaling}}, "monitoring": watched})


def test_names_are_unique_and_everything_is_in_the_release_s_namespace(manifests: Sequence[Manifest]) -> None:
    """And belongs to the release by its labels."""
    names = [(one["kind"], one["metadata"]["name"]) for one in manifests]
    assert len(set(names)) == len(names)
    for one in manifests:
        assert one["metadata"]["namespace"] == "prod"
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == "demo"


def test_every_pod_has_as_few_rights_as_it_can(manifests: Sequence[Manifest]) -> None:
    """No root, no capabilities, a read-only root, no token of the cluster, and a limit to its memory."""
    for name, spec, container in pods(manifests):
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert container["resources"]["limits"]["memory"], name
        assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"], name  # noqa: S108 - the pod's own
        mounted = {one["name"] for one in container["volumeMounts"]}
        assert mounted == {one["name"] for one in spec["volumes"]}, name


def test_every_worker_is_probed_spread_and_not_interrupted(manifests: Sequence[Manifest]) -> None:
    """Each role's deployment has a budget of disruptions that selects its pods."""
    budgets = of_kind(manifests, "PodDisruptionBudget")
    for name, deployment in of_kind(manifests, "Deployment").items():
        template = deployment["spec"]["template"]
        (container,) = template["spec"]["containers"]
        probes = {
            probe: container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")
        }
        assert probes == {"startup": "/live", "liveness": "/live", "readiness": "/ready"}
        spread = [one["topologyKey"] for one in template["spec"]["topologySpreadConstraints"]]
        assert spread == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
        chosen = budgets[name]["spec"]["selector"]["matchLabels"]
        assert chosen == deployment["spec"]["selector"]["matchLabels"]
        assert chosen.items() <= template["metadata"]["labels"].items()


def test_no_secret_is_written_down(manifests: Sequence[Manifest]) -> None:
    """They are named: by reference, or as files that are mounted."""
    assert not of_kind(manifests, "Secret")
    for name, _, container in pods(manifests):
        for variable in container["env"]:
            if variable["name"].endswith(("_PASSWORD", "_SECRET", "_API_KEY", "_USERNAME")):
                assert "secretKeyRef" in variable["valueFrom"], (name, variable["name"])


def test_every_setting_is_one_and_is_taken_as_it_is_written(
    manifests: Sequence[Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt one would keep the pod from starting."""
    for variable in [one for one in os.environ if one.startswith(PREFIX)]:
        monkeypatch.delenv(variable)
    for name, _, container in pods(manifests):
        found = {one["name"]: one.get("value", "by reference") for one in container["env"]}
        assert len(found) == len(container["env"]), name
        own = {variable for variable in found if not variable.startswith("OTEL_")}
        assert {one.removeprefix(PREFIX).lower() for one in own} <= set(Settings.model_fields), name
        with monkeypatch.context() as patched:
            for variable, value in found.items():
                patched.setenv(variable, value)
            settings = Settings()
        assert settings.metrics_port == 9090
        assert settings.broker != "embedded"


def test_keys_are_mounted_where_records_are_read() -> None:
    """From a secret that is named: in every role, and not in the job that creates topics."""
    for name, spec, container in pods(render(values("production"))):
        found = {one["name"]: one.get("value") for one in container["env"]}
        volumes = {one["name"]: one for one in spec["volumes"]}
        if name == "topics":
            assert "key-ring" not in volumes
            assert not any("KEY_RING" in one for one in found)
            continue
        assert volumes["key-ring"] == {"name": "key-ring", "secret": {"secretName": "turngate-key-ring"}}
        (mount,) = [one for one in container["volumeMounts"] if one["name"] == "key-ring"]
        assert (found["TURNGATE_KEY_RING"], mount["readOnly"]) == (mount["mountPath"], True)
        assert found["TURNGATE_KEY_RING_USE"] == "require"
    for _, _, container in pods(render(values("minimal"))):
        assert not any("KEY_RING" in one["name"] for one in container["env"])


def test_settings_of_a_role_win_and_lists_are_what_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, too: Helm has them all as floats."""
    by_name = {name: container for name, _, container in pods(render(values("production")))}
    found = {one["name"]: one.get("value") for one in by_name["tools"]["env"]}
    assert found["TURNGATE_MAX_TOOL_CALLS"] == "16"
    assert (found["TURNGATE_MAX_ATTEMPTS"], found["TURNGATE_IDLE_TIMEOUT_S"]) == ("3", "45.5")
    monkeypatch.setenv("TURNGATE_VOICE_CHANNELS", str(found["TURNGATE_VOICE_CHANNELS"]))
    assert Settings().voice_channels == ("voice", "phone")


def test_every_role_is_told_where_traces_go_and_the_job_is_not() -> None:
    """By OpenTelemetry's own variables; and without them nothing is said of traces."""
    for name, _, container in pods(render(values("production"))):
        found = {one["name"]: one.get("value") for one in container["env"]}
        said = {
            variable: value for variable, value in found.items() if variable.startswith(("OTEL_", "TURNGATE_TRACES"))
        }
        expected = {
            "TURNGATE_TRACES": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.monitoring:4318",
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.1",
        }
        assert said == (expected if name in ROLES else {}), name
    for _, _, container in pods(render(values("minimal"))):
        assert not [one for one in container["env"] if one["name"].startswith(("OTEL_", "TURNGATE_TRACES"))]


def test_workers_scale_by_the_lag_of_what_they_read() -> None:
    """With the group and the topics that they really have, and no more than there are partitions."""
    scaled = of_kind(render(values("production")), "ScaledObject")
    turns = scaled["demo-turngate-turns"]["spec"]
    asked = {one["metadata"]["topic"]: one["metadata"] for one in turns["triggers"]}
    assert set(asked) == {"turngate.requests", "turngate.frames", "turngate.tool-results"}
    assert {one["consumerGroup"] for one in asked.values()} == {"turngate.turns"}
    assert {one["sasl"] for one in asked.values()} == {"scram_sha512"}
    assert turns["maxReplicaCount"] == 24
    assert "replicas" not in of_kind(render(values("production")), "Deployment")["demo-turngate-turns"]["spec"]
    assert of_kind(render(values("production")), "HorizontalPodAutoscaler").keys() == {
        "demo-turngate-tools",
        "demo-turngate-gateway",
    }


def test_policies_let_in_who_asks_and_out_to_kafka_alone() -> None:
    """Turn workers reach nothing else; model runners and tool runners what is said."""
    policies = of_kind(render(values("production")), "NetworkPolicy")
    assert set(policies) == {f"demo-turngate-{name}" for name in (*ROLES, "topics")}
    out = {name: one["spec"]["egress"] for name, one in policies.items()}
    kafka = {"ports": [{"port": 9093, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "10.20.0.0/16"}}]}
    for name, rules in out.items():
        assert rules[1] == kafka, name
    assert [len(out[f"demo-turngate-{name}"]) for name in ROLES] == [3, 4, 4, 3]
    traces = [{"ports": [{"port": 4318, "protocol": "TCP"}]}]
    assert [one[2:3] for name, one in out.items() if not name.endswith("topics")] == [traces] * len(ROLES)
    untraced = render(merged(values("production"), {"tracing": {"enabled": False}}))
    least = [one["spec"]["egress"] for one in of_kind(untraced, "NetworkPolicy").values()]
    assert sorted(map(len, least)) == [2, 2, 2, 3, 3]
    ingress = {name: one["spec"]["ingress"] for name, one in policies.items()}
    assert ingress["demo-turngate-topics"] == []
    assert [rule["ports"][0]["port"] for rule in ingress["demo-turngate-gateway"]] == ["metrics", "http"]


def test_alerts_and_dashboard_are_the_shipped_ones() -> None:
    """The chart carries copies: Helm reads nothing outside of it."""
    assert (CHART / "files/alerts.yml").read_bytes() == (ROOT / "deploy/prometheus/alerts.yml").read_bytes()
    shown = (ROOT / "deploy/grafana/dashboards/turngate.json").read_bytes()
    assert (CHART / "files/turngate.json").read_bytes() == shown
    manifests = render(values("production"))
    (rule,) = of_kind(manifests, "PrometheusRule").values()
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))
    config = of_kind(manifests, "ConfigMap")["demo-turngate-dashboard"]
    assert json.loads(config["data"]["turngate.json"]) == json.loads(shown)
    (monitor,) = of_kind(manifests, "ServiceMonitor").values()
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    services = [one for one in of_kind(manifests, "Service").values() if wanted <= one["metadata"]["labels"].items()]
    assert len(services) == len(ROLES)
    assert monitor["spec"]["jobLabel"] in services[0]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("example", "change", "words"),
    [
        ("minimal", {"broker": ""}, "broker"),
        ("minimal", {"brokers": "kafka:9092"}, "brokers"),
        ("minimal", {"settings": {"kafka_password": "x"}}, "kafka_password"),
        ("minimal", {"kafka": {"auth": "certificate"}}, "kafka.auth is certificate: set kafka.tls"),
        ("minimal", {"kafka": {"auth": "scram"}}, "name the secret with the login of"),
        (
            "minimal",
            {"roles": {"turns": {"autoscaling": {"kind": "hpa", "min": 2, "max": 13}}}},
            "more than the 12 partitions cannot work",
        ),
        (
            "minimal",
            {"roles": {"turns": {"autoscaling": {"kind": "hpa", "min": 4, "max": 3}}}},
            "max is below min",
        ),
        ("minimal", {"roles": {"gateway": {"enabled": True}}}, "gateway.keysSecret.name"),
        ("minimal", {"keyRing": {"use": "perhaps"}}, "keyRing"),
        ("production", {"gateway": {"ingress": {"enabled": True, "host": ""}}}, "gateway.ingress.host"),
        (
            "tokens",
            {"roles": {"turns": {"autoscaling": {"kind": "keda", "min": 1, "max": 2}}}},
            "name a TriggerAuthentication",
        ),
    ],
)
def test_values_that_cannot_work_are_refused(example: str, change: Mapping[str, Any], words: str) -> None:
    """Before anything is installed, by name."""
    with pytest.raises(helm_python.HelmError, match=words):
        render(merged(values(example), change))


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with `change` over it, table by table."""
    result = dict(base)
    for key, value in change.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def test_every_value_is_described_by_the_schema() -> None:
    """The defaults fit it, but for the broker that must be given."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(defaults | {"broker": "kafka:9092"}, schema)
    assert set(schema["properties"]) - {"global"} == set(defaults)


def test_the_chart_has_the_project_s_version() -> None:
    """Which is the tag of the image that it asks for."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert chart["version"] == chart["appVersion"] == project["version"]
