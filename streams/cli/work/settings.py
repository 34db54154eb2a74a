"""Show what is in force, and where it comes from."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from processors import Deps, load_deps
from processors.declare import KINDS, Declaration, Kind
from streams.cli import output, session
from streams.cli.failures import OK
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
            [(row["variable"], _cell(row["value"]), row["from"], row["description"]) for row in rows],
        )
    # What the operator's module prints while it is imported is not among our results.
    with contextlib.redirect_stdout(sys.stderr):
        deps = load_deps(settings.deps, paths=(Path.cwd(),)) if settings.deps is not None else Deps()
    _chains(deps, settings.deps, as_json=as_json)
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
    if isinstance(value, ProviderSettings):
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


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _chains(deps: Deps, spec: str | None, *, as_json: bool) -> None:
    manifest = deps.manifest
    members = [
        _member(kind, position, member, spec) for kind in KINDS for position, member in enumerate(manifest.chain(kind))
    ]
    release = {
        "release": manifest.release_mode,
        "window": manifest.window,
        "window_chars": manifest.window_chars,
        "required_controls": list(manifest.required_controls),
    }
    if as_json:
        for member in members:
            output.json_line(member)
        output.json_line(release)
        return
    output.line()
    if members:
        columns = ("chain", "position", "processor", "version", "incremental", "from")
        output.table(columns, [[_cell(member[column]) for column in columns] for member in members])
        output.line()
    output.line(_release_sentence(manifest.release_mode, manifest.window_chars))


def _member(kind: Kind, position: int, member: Declaration, spec: str | None) -> dict[str, Any]:
    lookback = member.incremental.lookback_chars if member.incremental is not None else None
    return {
        "chain": kind,
        "position": position,
        "processor": member.name,
        "version": member.version,
        "incremental": None if lookback is None else f"lookback {lookback}",
        "lookback_chars": lookback,
        "timeout_s": member.timeout_s,
        "from": spec,
    }


def _release_sentence(mode: str, window_chars: int) -> str:
    if mode == "live":
        return "Release: live. No output processor is declared, so answers go out as they come, unjudged."
    if mode == "whole":
        return "Release: whole. An answer goes out once it is complete and every output processor has passed it."
    if mode == "scan":
        return "Release: scan. The answer is read once, and what can no longer change goes out at once."
    last = "character" if window_chars == 1 else f"{window_chars} characters"
    return f"Release: incremental. All but the last {last} of what the chain makes go out at once."
