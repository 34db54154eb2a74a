"""The turn worker as a Faust app: agents for `requests` and `frames` that hand every record to its partition's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from streams.faust_shell.base import AppSettings, JournalApp
from streams.sources import Source
from streams.turns.worker import TurnWorker
from topics import names
from topics.names import Topic

_FULL_POLL_S = 0.02


class TurnsApp(JournalApp):
    """Runs a `TurnWorker` that `build` makes of this app."""

    def __init__(
        self,
        settings: AppSettings,
        build: Callable[[TurnsApp], TurnWorker],
        fatal: Callable[[BaseException], None],
    ) -> None:
        super().__init__(settings)
        self.worker = build(self)
        self._fatal = fatal
        self.belong_to(self.worker.partitions, fatal)
        self.agent(self.source(names.REQUESTS), name="requests")(self._requests)
        self.agent(self.source(names.FRAMES), name="frames")(self._frames)

    async def _requests(self, stream: Any) -> None:
        """Take in requests; when too many turns are open, let them wait in Kafka: frames must never wait for them."""
        async for event in self._events(stream):
            while self.worker.full and not self.rebalancing:  # noqa: ASYNC110
                await asyncio.sleep(_FULL_POLL_S)  # a rebalance ends the wait too, and has no event to wait for
            await self.worker.deliver(_source(names.REQUESTS, event))

    async def _frames(self, stream: Any) -> None:
        """Take in frames."""
        async for event in self._events(stream):
            await self.worker.deliver(_source(names.FRAMES, event))

    async def _events(self, stream: Any) -> Any:
        try:
            async for event in stream.noack().events():
                yield event
        except asyncio.CancelledError:
            raise
        except Exception as exc:  # noqa: BLE001 - Faust would restart the agent, one record further on
            self._fatal(exc)


def _source(topic: Topic, event: Any) -> Source:
    message = event.message
    return Source(topic, message.partition, message.offset, message.value, event.ack)
