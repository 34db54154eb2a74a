"""What KEDA and the Prometheus operator take of the fields that the chart uses, as JSON Schema; any other field is refused.

Written after the definitions that they install: `ScaledObject` and `TriggerAuthentication` of KEDA 2.16 (keda.sh/v1alpha1),
`ServiceMonitor` and `PrometheusRule` of the Prometheus operator 0.80 (monitoring.coreos.com/v1); and, for what KEDA's
definition leaves open, after its page on the scaler for Apache Kafka (keda.sh, 2.16).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
DURATION: Schema = {"type": "string", "pattern": r"^(0|([0-9]+y)?([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$"}


def obj(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these fields and no other."""
    properties = {**required, **(optional or {})}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def each(item: Schema) -> Schema:
    """Return the schema of a list of at least one such thing."""
    return {"type": "array", "items": item, "minItems": 1}


def number(least: int, most: int = 2**31 - 1) -> Schema:
    """Return the schema of an integer."""
    return {"type": "integer", "minimum": least, "maximum": most}


def matching(pattern: str) -> Schema:
    """Return the schema of a text that is all of a pattern."""
    return {"type": "string", "pattern": f"^(?:{pattern})$"}


def kind(api: str, name: str, spec: Schema) -> Schema:
    """Return the schema of a manifest."""
    metadata = obj({"name": TEXT, "namespace": TEXT, "labels": TEXTS})
    return obj({"apiVersion": {"const": api}, "kind": {"const": name}, "metadata": metadata, "spec": spec})


_STEP = obj(
    {},
    {
        "stabilizationWindowSeconds": number(0, 3600),
        "policies": each(
            obj({"type": {"enum": ["Pods", "Percent"]}, "value": number(1), "periodSeconds": number(1, 1800)})
        ),
        "selectPolicy": {"enum": ["Max", "Min", "Disabled"]},
    },
)
_BEHAVIOR = obj({}, {"scaleUp": _STEP, "scaleDown": _STEP})
#: Every value is a text: KEDA refuses a number or a boolean here.
_KAFKA = obj(
    {
        "bootstrapServers": matching(r"[\w.-]+:\d+(,[\w.-]+:\d+)*"),
        "consumerGroup": matching(r"[\w.-]+"),
        "topic": matching(r"[\w.-]+"),
        "lagThreshold": matching(r"[1-9]\d*"),
    },
    {
        "offsetResetPolicy": {"enum": ["earliest", "latest"]},
        "scaleToZeroOnInvalidOffset": {"enum": ["true", "false"]},
        "sasl": {"enum": ["none", "plaintext", "scram_sha256", "scram_sha512", "gssapi", "oauthbearer"]},
        "tls": {"enum": ["enable", "disable"]},
    },
)
_TRIGGER = obj(
    {"type": {"const": "kafka"}, "metadata": _KAFKA},
    {
        "authenticationRef": obj(
            {"name": TEXT}, {"kind": {"enum": ["TriggerAuthentication", "ClusterTriggerAuthentication"]}}
        )
    },
)
_PARAMETERS = ["sasl", "username", "password", "tls", "ca", "cert", "key", "keyPassword"]
_RULE = obj({"alert": TEXT, "expr": TEXT}, {"for": DURATION, "labels": TEXTS, "annotations": TEXTS})

SCHEMAS: Mapping[str, Schema] = {
    "ScaledObject": kind(
        "keda.sh/v1alpha1",
        "ScaledObject",
        obj(
            {"scaleTargetRef": obj({"name": TEXT}, {"apiVersion": TEXT, "kind": TEXT}), "triggers": each(_TRIGGER)},
            {
                "minReplicaCount": number(0),
                "maxReplicaCount": number(1),
                "pollingInterval": number(1),
                "cooldownPeriod": number(0),
                "advanced": obj({}, {"horizontalPodAutoscalerConfig": obj({}, {"name": TEXT, "behavior": _BEHAVIOR})}),
            },
        ),
    ),
    "TriggerAuthentication": kind(
        "keda.sh/v1alpha1",
        "TriggerAuthentication",
        obj({"secretTargetRef": each(obj({"parameter": {"enum": _PARAMETERS}, "name": TEXT, "key": TEXT}))}),
    ),
    "ServiceMonitor": kind(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        obj(
            {
                "selector": obj({"matchLabels": TEXTS}),
                "endpoints": each(obj({"port": TEXT}, {"path": matching("/.*"), "interval": DURATION})),
            },
            {"namespaceSelector": obj({"matchNames": each(TEXT)}), "jobLabel": TEXT},
        ),
    ),
    "PrometheusRule": kind(
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        obj({"groups": each(obj({"name": TEXT, "rules": each(_RULE)}, {"interval": DURATION}))}),
    ),
}
