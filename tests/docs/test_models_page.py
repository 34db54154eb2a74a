"""`docs/models.md` against the code: the file as it is shown, and every metric of the model runner."""

from __future__ import annotations

import tomllib

from prometheus_client.metrics import MetricWrapperBase

from streams.metrics import ModelMetrics
from streams.models.openai import OpenAISettings
from streams.models.routing import Provider
from streams.settings import Settings
from tests.docs.markdown import ROOT, code, codes, fences, sections

PAGE = ROOT / "docs" / "models.md"


def test_the_file_that_is_shown_can_be_used() -> None:
    """Its entries are settings, and the fallback it names is a model of one of its providers."""
    (shown,) = [fence for fence in fences(PAGE) if fence.language == "toml"]
    found = Settings(**tomllib.loads(shown.text))
    assert {name: one.models for name, one in found.providers.items()} == {
        "spare": ("qwen*", "llama-3.?"),
        "other": ("*-instruct",),
    }
    name, _, model = found.fallback_models[0].partition("/")
    assert Provider(name, found.providers[name].models, OpenAISettings()).serves(model)


def test_every_metric_of_the_model_runner_is_there() -> None:
    """With its labels and its description, and no other."""
    rows = [
        (code(row["metric"]), tuple(codes(row["labels"])), row["what it is"]) for row in sections(PAGE)["Metrics"].rows
    ]
    metrics = [one for one in vars(ModelMetrics()).values() if isinstance(one, MetricWrapperBase)]
    assert rows == [
        (one._name + ("_total" if one._type == "counter" else ""), tuple(one._labelnames), one._documentation)
        for one in metrics
    ]
