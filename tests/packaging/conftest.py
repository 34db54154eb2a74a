"""The option that lets tests fetch packages."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--packages`."""
    parser.addoption("--packages", action="store_true", help="install the wheel with each extra (fetches packages)")
