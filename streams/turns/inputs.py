"""What reaches the turns of one partition: records from topics, and news about their turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from streams.gate.events import Event
from streams.sources import Source
from topics.ids import TurnKey


@dataclass(frozen=True, slots=True)
class News:
    """Something happened to a turn that no record told: a chain ran, effects were published, time passed."""

    turn: TurnKey
    event: Event


Input: TypeAlias = Source | News
