"""The desk of one partition: takes inputs of every kind, and plans what to journal and to publish.

Pure planning: no I/O, no clock. A plan's records are already folded into the turns' states here, so whoever applies the plan
must journal them all or end the process; nothing else may be done with a plan before that.

Who does what:

    requests, answers, eraser    what each kind of record from a topic says happened, and to which turn
    states                       has `gate.machine` decide what follows, and keeps the turns
    recovery                     the same states again, from the journal
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from streams.gate import events, machine
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import Scanner
from streams.gate.state import Turn
from streams.gate.work import Work, work_of
from streams.journal.replay import Rows
from streams.steps import Steps
from streams.turns import recovery
from streams.turns.answers import Answers
from streams.turns.chain_table import ChainTable, TurnChains
from streams.turns.desk_settings import DeskSettings
from streams.turns.eraser import Eraser
from streams.turns.inputs import Input, News
from streams.turns.meter import UsageMeter
from streams.turns.plan import Done, Plan
from streams.turns.requests import Requests
from streams.turns.states import States
from topics import names
from topics.ids import TurnKey
from topics.records import ModelFrame


class Desk:
    """The turns of one partition.

    `turns` are the open ones, `done` the closed ones that a late duplicate may still ask for. `chains` are the worker's:
    which of them a turn runs through, it pins when it starts; a bare policy is that of the only ones. `meter` knows what
    was spent and how often was asked, where budgets or processors need that; it is the worker's, and told what the turns
    here do.
    """

    def __init__(
        self,
        partition: int,
        chains: ChainTable | Policy,
        settings: DeskSettings,
        open_scanner: Callable[[], Scanner] | None = None,
        meter: UsageMeter | None = None,
    ) -> None:
        if not isinstance(chains, ChainTable):
            chains = ChainTable(TurnChains(chains, None, open_scanner))
        self._states = states = States(partition, chains, settings, meter)
        self._requests = Requests(states)
        self._answers = Answers(states)
        self._eraser = Eraser(states)
        self.partition = partition
        self.chains = chains
        self.settings = settings
        self.turns: Mapping[TurnKey, Turn] = states.turns
        self.done: Mapping[TurnKey, Done] = states.done
        self.threads = states.threads
        self.erasures = states.erasures

    @property
    def policy(self) -> Policy:
        """What the operator decided, but for the chains: those are of each turn."""
        return self._states.policy

    def restore(
        self,
        journal: Mapping[TurnKey, Sequence[JournalRecord]],
        threads: Mapping[str, Rows] | None = None,
        erasures: Mapping[str, Rows] | None = None,
    ) -> Steps[Plan]:
        """Rebuild the turns and threads from their journal, and what was erased of them, step by step; return what is owed.

        That is: effects that may not have been published, what threads had no time to remember, and what was erased and is
        still there.

        Raises:
            JournalError: a turn's records are not consecutive, or a thread's row cannot be read.
        """
        return recovery.restore(self._states, journal, threads, erasures)

    def startable(self) -> list[News]:
        """Return what is due after `restore`, such as the start of each thread's first turn."""
        return recovery.startable(self._states)

    def take(self, inputs: Iterable[Input], now: float) -> Plan:
        """Plan what follows from `inputs` at `now` (epoch seconds), and fold it into the turns' states.

        Inputs count in their order, except that frames come last, those of a turn together: one record, one release.
        """
        plan = Plan()
        frames: dict[TurnKey, list[ModelFrame]] = {}
        for item in inputs:
            if isinstance(item, News):
                self._states.happened(item.turn, item.event, now, plan)
            elif item.topic is names.FRAMES:
                self._answers.gather(item, frames, now, plan)
            elif item.topic is names.TOOL_RESULTS:
                self._answers.take_result(item, now, plan)
            elif item.topic is names.ERASURES:
                self._eraser.take(item, now, plan)
            else:
                self._requests.take(item, now, plan)
        self._answers.take_frames(frames, now, plan)
        for key in plan.touched:
            if (turn := self.turns.get(key)) is not None:
                self._states.wakeups.by(key, machine.wake_at(turn, self.chains.of(turn).policy), now)
        return plan

    def confirmed(self, key: TurnKey, n: int) -> None:
        """Note that the effects of a turn's records up to `n` are published; its next record will say so."""
        self._states.confirmed(key, n)

    def work(self, key: TurnKey) -> Work | None:
        """Return the chain run that a turn waits for, if it is open and waits for one, and it is settled which chains."""
        turn = self.turns.get(key)
        if turn is None or self.chains.lacks(turn):
            return None
        return work_of(turn, self.chains.of(turn).policy)

    def overdue(self, now: float, listening_since: float) -> list[News]:
        """Return a tick for every open turn that has waited longer than it may."""
        found: list[News] = []
        for key in self._states.wakeups.due(now):
            turn = self.turns.get(key)
            if turn is None or turn.over:
                continue
            at = machine.wake_at(turn, self.chains.of(turn).policy, listening_since)
            if at <= now:
                found.append(News(key, events.Tick(listening_since)))
                at = math.inf
            self._states.wakeups.by(key, at, now)
        return found

    def expired(self, now: float) -> list[str]:
        """Forget closed turns that no duplicate can ask for any more, and threads that fell silent long ago.

        Return their subjects in the journal: all their rows can go.
        """
        limit = now - self.settings.idempotency_window_s - 3600.0
        old = [key for key, done in self._states.done.items() if done.at < limit]
        for key in old:
            del self._states.done[key]
        return [*map(str, old), *self.threads.expired(now, busy=self._states.queues), *self.erasures.expired(limit)]
