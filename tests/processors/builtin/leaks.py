"""A processor sent through the gate with its answer cut in every way, and what that must not change."""

from __future__ import annotations

from processors.testing import run_gate
from tests.properties.drive import splits


def assert_same_however_cut(processor: object, text: str, expected: str, *, drawn: int = 50) -> None:
    """Assert that each way to cut `text` comes to `expected`, and that what is out at any time is a beginning of it."""
    for pieces in splits(text, drawn, seed=3):
        run = run_gate([processor], pieces)
        assert (run.outcome, run.text) == ("completed", expected), pieces
        out = ""
        for release in run.releases:
            out += release
            assert expected.startswith(out), pieces
        assert out == expected
