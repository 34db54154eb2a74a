"""What tenants and users spent lately, and how often they asked: what token budgets and rate limits are decided by.

Pure: time is passed in, in seconds since the epoch. Every usage record of the pipeline is counted once, whoever wrote it,
however often it comes and in whatever order: those of this worker when they are decided on, those of others when they
come over the `usage` topic. What this worker's own turns do is so known to the next one at once.

Memory is bounded, and wherever that costs precision, it errs on the strict side:

* A sum over a window has at most `SLOTS` slots and one more, whatever is spent. Spending counts until its slot is out of
  the window: up to a thousandth of the window longer than it has to, never shorter.
* Of each user at most `MAX_RECENT` turns are known, the newest.
* Sums and users that nothing was heard of for a whole window are forgotten: there are as many of them as tenants and users
  that spent something in it.
* The last `MAX_IDS` records are recognised when they come again. One that comes later than that would count twice; records
  come again within seconds, or first thing after a partition was without an owner.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from hashlib import blake2b

from processors.budgets import Budget
from streams.gate.effects import Publish
from streams.gate.state import Phase, Turn
from topics.ids import TurnKey
from topics.records import UsageRecord

SLOTS = 1_000
MAX_RECENT = 1_000
MAX_IDS = 200_000
#: Forgetting what is out of all windows goes through everybody, so it is done this often per window.
_SWEEPS_PER_WINDOW = 8


_BEFORE_THE_MODEL = frozenset({Phase.QUEUED, Phase.GOVERNANCE, Phase.PRE, Phase.INPUT})


class SlidingSum:
    """A sum of what was added within the last `span_s` seconds, in slots of a `SLOTS`th of that."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._slot_s = span_s / SLOTS
        self._slots: dict[int, int] = {}
        self._oldest = math.inf
        self._total = 0

    def add(self, at: float, amount: int) -> None:
        """Add what was spent at `at`."""
        slot = math.floor(at / self._slot_s)
        self._slots[slot] = self._slots.get(slot, 0) + amount
        self._oldest = min(self._oldest, slot)
        self._total += amount

    def at(self, now: float) -> int:
        """Return the sum at `now`; what is out of the window by then is forgotten."""
        first = math.floor((now - self._span_s) / self._slot_s)
        if self._oldest < first:
            self._slots = {slot: amount for slot, amount in self._slots.items() if slot >= first}
            self._oldest = min(self._slots, default=math.inf)
            self._total = sum(self._slots.values())
        return self._total

    def __len__(self) -> int:
        return len(self._slots)


class RecentIds:
    """Knows the last ids it was told, up to a number."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._order: deque[int] = deque()
        self._known: set[int] = set()

    def add(self, one: str) -> bool:
        """Take in an id; return whether it was not known."""
        digest = int.from_bytes(blake2b(one.encode(errors="surrogatepass"), digest_size=8).digest())
        if digest in self._known:
            return False
        self._known.add(digest)
        self._order.append(digest)
        if len(self._order) > self._limit:
            self._known.discard(self._order.popleft())
        return True


class UsageMeter:
    """Counts usage against `budgets`, and the turns of the last `recent_s` seconds by user; 0 if nobody asks for them."""

    def __init__(self, budgets: Iterable[Budget] = (), recent_s: float = 0.0, *, max_ids: int = MAX_IDS) -> None:
        self._budgets = tuple(budgets)
        self._recent_s = recent_s
        #: For each budget, the sum of each tenant or user it binds.
        self._sums: list[dict[Hashable, SlidingSum]] = [{} for _ in self._budgets]
        self._turns: dict[tuple[str, str | None], dict[TurnKey, float]] = {}
        self._ids = RecentIds(max_ids)
        self._swept_at = -math.inf

    @property
    def window_s(self) -> float:
        """How far back, in seconds, anything is asked; 0 if nothing ever is."""
        return max([self._recent_s, *(budget.per_s for budget in self._budgets)])

    @property
    def counts_turns(self) -> bool:
        """Whether somebody asks for the turns of users."""
        return self._recent_s > 0

    def take(self, record: UsageRecord, now: float) -> bool:
        """Count a usage record; return False, and count nothing, if it was counted before."""
        if not self._ids.add(record.id):
            return False
        self._sweep(now)
        tenant, user = record.tenant, record.user_id
        spent = max(record.usage.total_tokens, record.usage.prompt_tokens + record.usage.completion_tokens, 0)
        for budget, sums in zip(self._budgets, self._sums, strict=True):
            if budget.binds(tenant, user) and record.at > now - budget.per_s:
                subject = _subject(budget, tenant, user)
                if subject not in sums:
                    sums[subject] = SlidingSum(budget.per_s)
                sums[subject].add(record.at, spent)
        # What a processor spends before a turn is blocked makes no turn of it.
        if record.processor is None:
            self._seen(record.turn, user, record.at, now)
        return True

    def afford(self, turn: Turn, now: float) -> bool:
        """Return whether every budget that `turn` draws on has tokens left: what `budgets.exhausted` says, the other way."""
        tenant, user = turn.key.tenant, turn.user_id
        for budget, sums in zip(self._budgets, self._sums, strict=True):
            known = sums.get(_subject(budget, tenant, user)) if budget.binds(tenant, user) else None
            if known is not None and known.at(now) >= budget.tokens:
                return False
        return True

    def note(self, before: Turn, after: Turn, effects: Iterable[Publish], now: float) -> None:
        """Count what a turn of this worker has just come to: what is published of its usage, and whether it is a turn.

        It is from when it begins, so that others that its user begins meanwhile see it; one that ends before its model
        was asked was none.
        """
        for effect in effects:
            if isinstance(effect.record, UsageRecord):
                self.take(effect.record, now)
        if after.begun and not before.begun:
            self._seen(after.key, after.user_id, now, now)
        if after.over and before.phase in _BEFORE_THE_MODEL and before.step == 0:
            self._turns.get((after.key.tenant, after.user_id), {}).pop(after.key, None)

    def resumed(self, turn: Turn, owed: Iterable[Publish]) -> None:
        """Count a turn that somebody else began and that goes on here, and what is `owed` to the topic of its usage."""
        for effect in owed:
            if isinstance(effect.record, UsageRecord):
                self.take(effect.record, effect.record.at)
        if turn.begun and not turn.over:
            self._seen(turn.key, turn.user_id, turn.progress_at, turn.progress_at)

    def recent(self, turn: Turn) -> Mapping[TurnKey, float]:
        """Return the other turns of the user of `turn`, each with when something was last heard of it.

        Some may be out of the window by now. There are none where nobody asks for them.
        """
        turns = self._turns.get((turn.key.tenant, turn.user_id), {})
        return {key: at for key, at in turns.items() if key != turn.key}

    @property
    def kept(self) -> int:
        """How many sums and turns are kept."""
        return sum(map(len, self._sums)) + sum(map(len, self._turns.values()))

    def _seen(self, turn: TurnKey, user: str | None, at: float, now: float) -> None:
        if at <= now - self._recent_s:
            return
        turns = self._turns.setdefault((turn.tenant, user), {})
        turns[turn] = max(at, turns.get(turn, at))
        if len(turns) > MAX_RECENT:
            del turns[min(turns, key=turns.__getitem__)]

    def _sweep(self, now: float) -> None:
        """Forget, now and then, who has nothing left in any window."""
        if now < self._swept_at + self.window_s / _SWEEPS_PER_WINDOW:
            return
        self._swept_at = now
        self._sums = [{of: one for of, one in sums.items() if one.at(now)} for sums in self._sums]
        since = now - self._recent_s
        kept = {user: {turn: at for turn, at in turns.items() if at > since} for user, turns in self._turns.items()}
        self._turns = {user: turns for user, turns in kept.items() if turns}


def _subject(budget: Budget, tenant: str, user: str | None) -> Hashable:
    return tenant if budget.per == "tenant" else (tenant, user)
