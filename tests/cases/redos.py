"""The chain of the case `redos`, where a process of its own can import it."""

from __future__ import annotations

from tests.cases.case import case
from tests.cases.made import output_deps

NAME = "redos"

deps = output_deps(case(NAME), timeout_s=0.5)
