"""`docs/settings.md` against the code: every setting, its default and its description; and the file as it is shown."""

from __future__ import annotations

import json
import tomllib

from streams.settings import Settings
from tests.docs.markdown import ROOT, code, fences, sections

PAGE = ROOT / "docs" / "settings.md"


def test_every_setting_is_there_with_its_default_and_description() -> None:
    """In the order of the code, and no other."""
    rows = [(code(row["setting"]), row["default"], row["what it is"]) for row in sections(PAGE)["All of them"].rows]
    defaults = {name: field.get_default(call_default_factory=True) for name, field in Settings.model_fields.items()}
    assert rows == [
        (name, "" if defaults[name] is None else f"`{json.dumps(defaults[name])}`", field.description)
        for name, field in Settings.model_fields.items()
    ]


def test_the_file_that_is_shown_can_be_used() -> None:
    """It is TOML, and its entries are settings with values that they take."""
    (shown,) = [fence for fence in fences(PAGE) if fence.language == "toml"]
    assert Settings(**tomllib.loads(shown.text)).voice_channels == ("voice", "phone")
