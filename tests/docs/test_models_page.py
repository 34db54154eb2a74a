"""`docs/models.md` against the code: the file as it is shown, and the metrics it names."""

from __future__ import annotations

import tomllib

from streams.models.openai import OpenAISettings
from streams.models.routing import Provider
from streams.settings import Settings
from tests.docs.markdown import ROOT, codes, fences, sections

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


def test_the_metrics_that_are_named_exist() -> None:
    """The page of metrics says what each is."""
    named = {name for name in codes(sections(PAGE)["Metrics"].text) if name.startswith("turngate_")}
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert named
    assert [name for name in sorted(named) if f"`{name}`" not in page] == []
