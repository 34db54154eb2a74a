"""`docker-compose.yml` as Docker reads it: merged, with variables put in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.architecture.sources import ROOT

FILE = ROOT / "docker-compose.yml"
#: ${NAME}, ${NAME:-default} and ${NAME:?message}.
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


class MissingVariableError(Exception):
    """A variable that must be set is not; the message is the file's own."""


def load(variables: Mapping[str, str], file: Path = FILE) -> dict[str, Any]:
    """Return the file, or another one, with `variables` put in.

    Raises:
        MissingVariableError: one that the file insists on is not among them.
    """

    def put_in(match: re.Match[str]) -> str:
        name, mark, rest = match.groups()
        if variables.get(name):
            return variables[name]
        if mark == "?":
            raise MissingVariableError(rest)
        return rest or ""

    read: dict[str, Any] = yaml.safe_load(_VARIABLE.sub(put_in, file.read_text(encoding="utf-8")))
    return read


def environment(service: Mapping[str, Any], variables: Mapping[str, str]) -> dict[str, str]:
    """Return a service's environment: values without one are taken over, where they are set."""
    own: Mapping[str, str | None] = service.get("environment", {})
    taken = {name: variables.get(name) if value is None else value for name, value in own.items()}
    return {name: value for name, value in taken.items() if value is not None}
