"""The groups of measurements by name. Each is a module with `GROUP`, `ABOUT` and `measure(setting)`."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from bench.rounds import Findings, Setting

#: In the order in which they are measured; by name, the module.
MODULES = {
    "gate": "bench.gate_figures",
    "throughput": "bench.throughput",
    "latency": "bench.latency",
    "journal": "bench.journal",
    "recovery": "bench.recovery",
    "housekeeping": "bench.housekeeping",
    "gateway": "bench.gateway",
}
NAMES = tuple(MODULES)


class Group(Protocol):
    """What a group's module offers."""

    GROUP: str
    ABOUT: str

    async def measure(self, setting: Setting) -> Findings:
        """Measure everyone, and return what was found."""


def find(name: str) -> Group:
    """Return a group. Only its module is imported, so that what another one needs may be missing."""
    if name not in NAMES:
        raise LookupError(f"there is no group {name}; there are: {', '.join(NAMES)}")
    return cast("Group", importlib.import_module(MODULES[name]))
