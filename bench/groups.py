"""The groups of measurements by name. Each is a module with `measure(setting)`."""

from __future__ import annotations

import importlib
import sys
from typing import Protocol, cast

from bench.rounds import Findings, Setting

#: In the order in which they are measured; by name, the module.
MODULES = {
    "gate": "bench.gate_figures",
    "throughput": "bench.throughput",
    "latency": "bench.latency",
    "journal": "bench.journal",
    "at-rest": "bench.at_rest",
    "recovery": "bench.recovery",
    "housekeeping": "bench.housekeeping",
    "gateway": "bench.gateway",
    "scale": "bench.scale",
}
NAMES = tuple(MODULES)
#: What each is about, for headings.
ABOUTS = {
    "gate": "what reading an answer costs, how long text is held, and who lets secrets out, in frames of four characters",
    "throughput": "frames per second of one worker, 200 turns interleaved, 89 bytes a frame",
    "latency": "time from a frame written to its text readable, 200 open turns",
    "journal": "bytes of the changelog per answer, beside the bound",
    "at-rest": "what encryption at rest costs a turn worker with three redactors",
    "recovery": "a turn worker that takes up the open turns of one that was killed",
    "housekeeping": "what a finished turn costs a turn worker and its journal",
    "gateway": "how old a text is when a reader over HTTP has it",
    "scale": "one more worker, more partitions, more open turns, other kinds of chains: what each changes",
}


class Group(Protocol):
    """What a group's module offers."""

    async def measure(self, setting: Setting) -> Findings:
        """Measure everyone, and return what was found."""


def find(name: str) -> Group:
    """Return a group. Only its module is imported, so that what another one needs may be missing.

    Raises:
        LookupError: there is no such group.
    """
    if name not in MODULES:
        raise LookupError(f"there is no group {name}; there are: {', '.join(NAMES)}")
    return cast("Group", importlib.import_module(MODULES[name]))


def alone(name: str) -> None:
    """Run one group with what the command line says; for modules that are run by themselves."""
    # Not imported above: what runs groups shows their figures, and so knows these modules' names.
    importlib.import_module("bench.run").main(["--only", name, *sys.argv[1:]])
