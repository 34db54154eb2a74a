"""Which providers were asked already in a step: what tells a retry from a fallback's first call.

A provider is protected from being asked again and again for one answer. An attempt that goes to a provider which was not
asked before is no burden of that kind, whatever its number: else a provider that stands in for one that is down could
answer no more turns than its own budget for retries allows.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from topics.ids import TurnKey
from topics.records import CallRecord, PromptRequest

#: How many steps are remembered, those that were seen last.
STEPS_KEPT = 10_000

_Step: TypeAlias = tuple[TurnKey, int]


class AskedProviders:
    """Remembers, for steps of which an attempt came by, who was asked. Lost with the process, and no harm is done then."""

    def __init__(self, kept: int = STEPS_KEPT) -> None:
        self._kept = kept
        self._asked: OrderedDict[_Step, set[str]] = OrderedDict()

    def is_retry(self, call: PromptRequest, provider: str) -> bool:
        """Return whether `call` would ask `provider` again that failed before.

        A call that was merely interrupted is no failure. Of a step that nothing is known of, a retry would ask it again.
        """
        step = call.turn, call.step
        asked = self._asked.get(step)
        if asked is None:
            asked = self._asked[step] = {provider} if call.retry else set()
        self._asked.move_to_end(step)
        if len(self._asked) > self._kept:
            self._asked.popitem(last=False)
        return call.retry and provider in asked

    def ask(self, call: CallRecord, provider: str) -> None:
        """Note that `provider` is asked."""
        self._asked.setdefault((call.turn, call.step), set()).add(provider)
