"""The lowest versions that are promised are those that `make lowest` tries."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.sources import ROOT

#: Extras that run in production; the others are for working on turngate.
EXTRAS = ("builtin", "embedded", "fast", "gateway", "openai", "otel", "sealing")
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?(>=|==)([\w.]+)(?:,<\d+)?")


def test_the_constraints_are_the_lower_bounds() -> None:
    """Each requirement has one, of an exact version it is that."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for name in EXTRAS for one in project["optional-dependencies"][name])]
    bounds = set()
    for requirement in wanted:
        found = _REQUIREMENT.fullmatch(requirement)
        assert found is not None, f"{requirement} has no lower bound"
        bounds.add(f"{found[1]}=={found[3]}")
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    assert {line for line in lines if not line.startswith("#")} == bounds
