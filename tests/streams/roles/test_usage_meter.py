"""Who needs a usage meter gets one, and nobody gets one that would forget."""

from __future__ import annotations

import pytest

from processors import Budget, Deps, DepsError, IncomingMessage, Proceed, message_rule
from processors.builtin import rate_limit
from streams.roles.turns import usage_meter
from topics.names import DAY_S


@message_rule("seldom", recent_turns_s=120.0)
def seldom(incoming: IncomingMessage) -> Proceed:
    """Look at when the user asked before."""
    return Proceed(metadata={"turns": len(incoming.context.recent_turns)})


@pytest.mark.parametrize(
    ("deps", "window_s"),
    [
        (Deps(), None),
        (Deps(budgets=[Budget("user", 5, 60.0)]), 60.0),
        (Deps(pre_processors=[rate_limit(5, 90.0)]), 90.0),
        (Deps(governance=[seldom], pre_processors=[rate_limit(5, 90.0)]), 120.0),
        (Deps(budgets=[Budget("user", 5, 30.0 * DAY_S)]), 30.0 * DAY_S),
    ],
)
def test_there_is_one_where_somebody_asks(deps: Deps, window_s: float | None) -> None:
    """As far back as the one who asks for most."""
    meter = usage_meter(deps.manifest)
    assert (meter and meter.window_s) == window_s


def test_a_window_longer_than_usage_is_kept_is_refused() -> None:
    """After a restart it would have forgotten what was spent."""
    with pytest.raises(DepsError, match="2592000 s"):
        usage_meter(Deps(budgets=[Budget("tenant", 5, 31.0 * DAY_S)]).manifest)
    with pytest.raises(DepsError, match="kept for 3600 s"):
        usage_meter(Deps(budgets=[Budget("tenant", 5, 1.0 * DAY_S)]).manifest, kept_s=3600)
