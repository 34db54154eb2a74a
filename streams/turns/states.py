"""The states of a partition's turns: folded from what is decided, each in its place in its thread.

Everything that happens to a turn goes through `States.happened`, whoever says that it did: it has the machine decide, writes
the plan, and folds that into the states at once.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from streams.gate import entries, events, machine
from streams.gate.effects import effects_of
from streams.gate.moves import Spelling
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Phase, Turn
from streams.turns.chain_table import ChainTable, TurnChains
from streams.turns.desk_settings import DeskSettings
from streams.turns.erasures import Erasures
from streams.turns.meter import UsageMeter
from streams.turns.plan import Done, Outgoing, Plan
from streams.turns.threads import Threads, Trim
from streams.turns.wakeups import WakeUps
from topics.ids import ThreadKey, TurnKey

#: Text of fewer code points fits into a record however it is spelt.
_SMALL_CHARS = 100_000


class States:
    """The turns of one partition: `turns` are the open ones, `done` the closed ones that a duplicate may still ask for.

    `queues` have each thread's open turns, in the order in which they run; `threads` is what threads remember, `erasures`
    what was erased of all that; `wakeups` say when turns are to be looked at because time passes.
    """

    def __init__(
        self, partition: int, chains: ChainTable, settings: DeskSettings, meter: UsageMeter | None = None
    ) -> None:
        self.partition = partition
        self.chains = chains
        self.settings = settings
        self.meter = meter
        self.turns: dict[TurnKey, Turn] = {}
        self.done: dict[TurnKey, Done] = {}
        self.queues: dict[ThreadKey, deque[TurnKey]] = {}
        self.threads = Threads(settings.threads)
        self.erasures = Erasures()
        self.wakeups = WakeUps()
        self._asked_again: dict[TurnKey, None] = {}
        self._confirmed: dict[TurnKey, int] = {}
        self._scans: dict[TurnKey, AnswerScan] = {}
        self._spells = settings.journal_version >= entries.MOVES_SINCE
        self._spelling: defaultdict[TurnKey, Spelling] = defaultdict(Spelling)

    @property
    def policy(self) -> Policy:
        """What the operator decided, but for the chains: those are of each turn."""
        return self.chains.usual.policy

    def open_turns(self, thread: ThreadKey) -> Sequence[TurnKey]:
        """Return the open turns of a thread, in the order in which they run."""
        return tuple(self.queues.get(thread, ()))

    def forget(self, thread: ThreadKey) -> Sequence[Trim]:
        """Forget what a thread remembers of erased turns, once none of them is open; return what can go."""
        if any(map(self.erasures.covers, self.open_turns(thread))):
            return ()
        return self.threads.forget(thread, self.erasures.covers)

    def is_over(self, key: TurnKey) -> bool:
        """Return whether a turn was here and is closed, though nothing else may be known of it any more."""
        return key in self.done or self.erasures.covers(key)

    def resume(self, turn: Turn) -> None:
        """Take over an open turn as its journal left it; it comes last in its thread."""
        self.turns[turn.key] = turn
        self._confirmed[turn.key] = turn.confirmed
        self.queues.setdefault(turn.key.thread, deque()).append(turn.key)
        self.wakeups.by(turn.key, 0.0, 0.0)

    def confirmed(self, key: TurnKey, n: int) -> None:
        """Note that the effects of a turn's records up to `n` are published; its next record will say so."""
        if key in self.turns:
            self._confirmed[key] = n

    def ask_again(self, key: TurnKey) -> None:
        """Note that an open turn whose outcome is decided was asked for again: its end is to be told once more."""
        self._asked_again[key] = None

    def accept(self, entry: entries.Accepted, now: float, plan: Plan) -> None:
        """Plan that a turn is there, and that it starts if its thread is free."""
        key = entry.request.turn
        record = JournalRecord(n=0, at=now, confirmed=-1, entry=entry)
        self.turns[key] = machine.begin(record)
        self._confirmed[key] = -1
        self.wakeups.by(key, self.turns[key].deadline_at, now)
        plan.journal.append((key, record))
        queue = self.queues.setdefault(key.thread, deque())
        queue.append(key)
        if len(queue) == 1 and entry.readable:
            self.happened(key, events.Start(), now, plan)

    def happened(self, key: TurnKey, event: events.Event, now: float, plan: Plan) -> None:
        """Plan what follows from an event of an open turn; nothing if it is not open."""
        turn = self.turns.get(key)
        if turn is None:
            return
        plan.touched[key] = None
        if isinstance(event, events.Start):
            turn = self.told(turn)
        afford = self.meter is None or self.meter.afford(turn, now)
        chains = self.chains.of(turn)
        for entry in machine.decide(turn, event, now, chains.policy, self._scan(key, chains), afford=afford):
            record = JournalRecord(n=turn.n, at=now, confirmed=self._confirmed[key], entry=self._fitting(entry))
            plan.journal.append((key, self._spelling[key].spelt(turn, record) if self._spells else record))
            effects = effects_of(turn, record, self.policy.max_record_bytes)
            plan.outgoing.append(Outgoing(key, record.n, effects))
            before, turn = turn, machine.evolve(turn, record)
            if self.meter is not None:
                self.meter.note(before, turn, effects, now)
            self.turns[key] = turn
            self.remember(turn, plan)
            if turn.over:
                # Perhaps because an entry was too large, and a failure took its place: what followed from it does not.
                break
        if turn.phase is Phase.CLOSED:
            self._close(turn, now, plan)

    def told(self, turn: Turn, records: Iterable[JournalRecord] = ()) -> Turn:
        """Return `turn` with what its model is told of the thread: the same for one whose `records` say it has begun.

        Also with when its user's turns before it were, as far as they are known now: for pre-processors, whose word is
        journaled.
        """
        if self.meter is not None and self.meter.counts_turns:
            turn = turn.with_(recent=self._recent(turn, self.meter))
        if turn.stateless:
            return turn
        for record in records:
            if isinstance(record.entry, entries.Started):
                return turn.with_(history=self.threads.newest(turn.key, record.entry.told))
        return turn.with_(history=self.threads.history(turn.key, turn.request.agent))

    def remember(self, turn: Turn, plan: Plan) -> None:
        """Plan what a turn's thread remembers of it, once it has ended; nothing if that is journaled already."""
        if turn.phase is Phase.ENDED and not self.erasures.covers(turn.key):
            plan.remember += self.threads.remember(turn)

    def _recent(self, turn: Turn, meter: UsageMeter) -> tuple[float, ...]:
        seen = dict(meter.recent(turn))
        for key, at in self.threads.recent(turn.key, turn.user_id).items():
            seen[key] = max(at, seen.get(key, at))
        return tuple(sorted(seen.values()))

    def _scan(self, key: TurnKey, chains: TurnChains) -> AnswerScan | None:
        if chains.open_scanner is None:
            return None
        return self._scans.setdefault(key, AnswerScan(chains.open_scanner))

    def _fitting(self, entry: entries.AnyEntry) -> entries.AnyEntry:
        """Return `entry`, or a failure in its place if it cannot be journaled in one record."""
        if _is_small(entry) or self.fits(entry):
            return entry
        if isinstance(entry, entries.Llm) and entry.rejected is None:
            message = "a frame of the answer is too large for a record: have the model server write smaller ones"
            return entries.Failed(error="AnswerTooLargeError", phase="model", message=message)
        return entries.Failed(
            error="ProcessorFailedError",
            message=f"what {entry.checkpoint} produced does not fit into a record: have processors return less",
        )

    def fits(self, entry: entries.AnyEntry) -> bool:
        """Return whether an entry can be journaled in one record."""
        return len(JournalRecord(0, 0.0, -1, entry).encode()) <= self.policy.max_entry_bytes

    def _close(self, turn: Turn, now: float, plan: Plan) -> None:
        key = turn.key
        partition, offset = turn.closed_at or (turn.partition, -1)
        asked_again = key in self._asked_again
        self._asked_again.pop(key, None)
        erased = self.erasures.covers(key)
        if erased:
            plan.erased.append(str(key))
        else:
            self.done[key] = Done(turn.outcome or "", partition, offset, now)
            plan.closed.append(key)
            plan.repeats += [(key, self.done[key])] if asked_again else []
        plan.trims += self.threads.trimmed(key.thread)
        del self.turns[key], self._confirmed[key]
        self._scans.pop(key, None)
        self._spelling.pop(key, None)
        queue = self.queues[key.thread]
        queue.remove(key)
        if erased:
            plan.trims += self.forget(key.thread)
        if not queue:
            del self.queues[key.thread]
        elif self.turns[queue[0]].phase is Phase.QUEUED:
            self.happened(queue[0], events.Start(), now, plan)


def _is_small(entry: entries.AnyEntry) -> bool:
    """Return whether an entry is small without a doubt, as nearly all are: most of them need not be encoded twice."""
    return (
        isinstance(entry, entries.Llm)
        and len(entry.text) + len(entry.release) + len(entry.refusal) < _SMALL_CHARS
        and not entry.early
        and not entry.tool_calls
        and entry.rejected is None
    )
