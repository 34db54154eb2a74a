"""One reader of one turn, from a position to the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from streams.gateway.hub import Hub
from streams.gateway.ids import Position
from streams.gateway.reading import Event, next_event
from topics.client import ContradictedTextError
from topics.ids import TurnKey

#: A reader that has much to read lets others have a turn after so many events.
_IN_A_ROW = 8


async def follow(
    hub: Hub, turn: TurnKey, at: Position | None, *, keep_alive_s: float, quiet_s: float
) -> AsyncGenerator[Event | None, None]:
    """Yield what comes of `turn` after `at` (None: from its beginning), and None after each `keep_alive_s` of silence.

    Ends after the last event, when the hub is closing, and after `quiet_s` without news.

    Raises:
        ContradictedTextError: the frames disagree about the text.
    """
    with hub.reader(turn, start=at.start if at is not None else None) as (held, reader):
        position = at or Position()
        quiet = 0.0
        in_a_row = 0
        while not hub.closing.is_set():
            event = None
            if held.whole:
                if held.view.contradicted:
                    raise ContradictedTextError(
                        "the released frames of this turn disagree about its text: show none of it, and tell the operator"
                    )
                position = position._replace(start=held.start or 0)
                event = next_event(held.view, position, shown=held.shown)
            if event is not None:
                position, quiet = event.after, 0.0
                yield event
                if event.last:
                    return
                in_a_row += 1
                if in_a_row % _IN_A_ROW == 0:
                    await asyncio.sleep(0)
            elif await reader.news(keep_alive_s):
                in_a_row = 0
            else:
                quiet += keep_alive_s
                if quiet >= quiet_s:
                    return
                yield None
