"""What `turngate follow` says that it shows."""

from __future__ import annotations

import pytest

from streams.cli.work.follow import Which, named


@pytest.mark.parametrize(
    ("tenant", "thread", "words"),
    [
        (None, None, "all turns"),
        (None, "t-1", "all turns of thread t-1"),
        ("acme", None, "all turns of tenant acme"),
        ("acme", "t-1", "all turns of thread t-1 of tenant acme"),
    ],
)
def test_it_names_whose_turns_it_shows(tenant: str | None, thread: str | None, words: str) -> None:
    """Whoever asked for one thread is not to wonder about the others."""
    which = Which(turn=None, thread=thread, tenant=tenant, from_beginning=False, timeout_s=None)
    assert named(which) == words
