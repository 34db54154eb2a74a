"""Which tests share a process where the suite runs in several (`pytest -n 3 --dist loadgroup`); a pytest plugin.

Those on one broker stay together, as they share it; they mostly wait, and those of another broker and those without one
run beside them. The tests of a module that says `pytest.mark.xdist_group` stay together too, where each process would
have to make something large again. All others go wherever there is room.
"""

from __future__ import annotations

import pytest

from tests.brokers.choice import KINDS


def pytest_itemcollected(item: pytest.Item) -> None:
    """Name the lane of a test that talks to a broker, before pytest-xdist looks at the names of all."""
    for name in KINDS:
        if item.get_closest_marker(name) is not None:
            item.add_marker(pytest.mark.xdist_group(name))
