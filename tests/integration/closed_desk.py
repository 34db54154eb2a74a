"""The example's support desk, on a Sunday."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from examples.support_desk import support_desk


def sunday() -> datetime:
    """Return noon of a Sunday."""
    return datetime(2026, 3, 8, 12, tzinfo=UTC)


deps = support_desk(clock=sunday, moderation_url=os.environ.get("SUPPORT_DESK_MODERATION_URL"))
