"""The cases as data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("cases.jsonl")


@dataclass(frozen=True)
class Case:
    """One case, or one variant of it: `fields` as in the file, long ones written out."""

    name: str
    fields: dict[str, Any]

    @property
    def expected(self) -> dict[str, Any]:
        """What must come of it."""
        expected: dict[str, Any] = self.fields["expected"]
        return expected

    @property
    def frames(self) -> list[Any]:
        """The answer's frames as the file spells them."""
        frames: list[Any] = self.fields["frames"]
        return frames

    def values(self, check: str) -> list[Any]:
        """Return what the invariants of one kind are about, in order."""
        keys = {"never_contains": "value", "never_matches": "pattern", "released_before_finish_at_least": "chars"}
        return [one.get(keys.get(check, "")) for one in self.fields["invariants"] if one["check"] == check]


def cases(layer: str) -> list[Case]:
    """Return the cases of a layer with their variants, in the file's order."""
    return [case for case in all_cases() if case.fields["layer"] == layer]


def case(name: str) -> Case:
    """Return one case by its name."""
    return next(one for one in all_cases() if one.name == name)


def all_cases() -> Iterator[Case]:
    """Yield every case, and after it its variants as `case/variant`."""
    with FILE.open() as lines:
        for line in lines:
            data = json.loads(line)
            variants = data.pop("variants", [])
            yield Case(data["id"], _written_out(data))
            for variant in variants:
                yield Case(f"{data['id']}/{variant['name']}", _written_out({**data, **variant}))


def _written_out(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with generated ones in place of the expressions that make them."""
    # The file is part of this repository, and its expressions are as trusted as any test's code.
    made = {name: eval(expression) for name, expression in data.get("gen", {}).items()}  # noqa: S307
    expected = dict(data["expected"])
    if "final_gen" in expected:
        expected["final"] = eval(expected.pop("final_gen"))  # noqa: S307
    return {**data, **made, "expected": expected}
