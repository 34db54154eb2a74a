"""Show what is in force, and where it comes from."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from processors import Deps, load_deps
from streams.cli import output, session
from streams.cli.failures import OK
from streams.cli.work import declared
from streams.gateway.keys import KeySettings
from streams.providers import ProviderSettings
from streams.settings import FILE, PREFIX, Settings, origins

HIDDEN = "(hidden)"
_URL = re.compile(r"\S+://\S*")
_QUERY = re.compile(r"[?#]")
_HOST_AND_PATH = re.compile(r"([^/:]*|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?(/.*)?")


def show(*, as_json: bool, **overrides: str | None) -> int:
    """Print settings and chains; return the exit status.

    Raises:
        SettingsError: a setting is unknown or cannot be used.
        DepsError: the processors do not load; the settings are printed first.
    """
    settings = session.begin(overrides)
    rows = _settings(settings, origins(**overrides))
    if as_json:
        for row in rows:
            output.json_line(row)
    else:
        output.table(
            ("setting", "value", "from", "what it is"),
            [(row["variable"], declared.cell(row["value"]), row["from"], row["description"]) for row in rows],
        )
    # What the operator's module prints while it is imported is not among our results.
    with contextlib.redirect_stdout(sys.stderr):
        deps = load_deps(settings.deps, paths=(Path.cwd(),)) if settings.deps is not None else Deps()
    declared.show(deps.manifest, settings.deps, as_json=as_json)
    return OK


def _settings(settings: Settings, found: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for name, field in Settings.model_fields.items():
        value = _shown(name, getattr(settings, name))
        origin = FILE if found[name] == "file" else found[name]
        rows.append(
            {
                "setting": name,
                "variable": PREFIX + name.upper(),
                "value": value,
                "from": origin,
                "description": field.description,
            }
        )
    return rows


def _shown(name: str, value: object) -> object:
    """Return a value as it may be seen and as JSON knows it, that of a table entry by entry."""
    if isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, str) and (name.endswith("_url") or _URL.fullmatch(value)):
        return _without_secrets(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, ProviderSettings | KeySettings):
        return {field: _shown(field, found) for field, found in value if found is not None}
    if isinstance(value, dict):
        return {key: _shown(key, found) for key, found in value.items()}
    return value


def _without_secrets(url: str) -> str:
    """Return an address with what may be a secret in it hidden: user and password, the values of its query, its fragment.

    One that is not well-formed is hidden in case of doubt: an `@`, `/` or `?` in it may be part of a password.
    """
    cut = _QUERY.search(url)
    head, tail = (url[: cut.start()], url[cut.start() :]) if cut else (url, "")
    scheme, mark, place = head.rpartition("://")
    user, at, host = place.rpartition("@")
    if not _HOST_AND_PATH.fullmatch(host) or (mark and "@" in scheme):
        return HIDDEN
    query, hash_mark, _ = tail.partition("#")
    shown = "&".join(
        f"{name}={HIDDEN}" if equals else HIDDEN
        for name, equals, _ in (pair.partition("=") for pair in query[1:].split("&"))
    )
    return "".join(
        (
            scheme,
            mark,
            HIDDEN if user else "",
            at,
            host,
            f"?{shown}" if query else "",
            f"#{HIDDEN}" if hash_mark else "",
        )
    )
