"""The turns of one partition: takes inputs, plans what to journal and to publish, and keeps the turns' states.

Pure planning: no I/O, no clock. A plan's records are already folded into the states here, so whoever applies the plan
must journal them all or end the process; nothing else may be done with a plan before that.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from streams.gate import entries, events, machine
from streams.gate.effects import Publish, effects_of
from streams.gate.moves import Spelling, resolved
from streams.gate.policy import Policy
from streams.gate.records import JOURNAL_VERSION, JournalError, JournalRecord
from streams.gate.scan import AnswerScan, Scanner
from streams.gate.state import Phase, Turn
from streams.gate.work import Work, work_of
from streams.journal.replay import Rows
from streams.journal.writer import Row
from streams.sources import Refused, Source
from streams.turns.chain_table import ChainTable, TurnChains
from streams.turns.eraser import Eraser
from streams.turns.inputs import Input, News
from streams.turns.meter import UsageMeter
from streams.turns.threads import Threads, ThreadSettings, Trim
from streams.turns.wakeups import WakeUps
from topics import codec, names
from topics.content import TextPart
from topics.errors import WireError
from topics.ids import ThreadKey, TurnKey
from topics.records import CancelTurn, Erased, ModelFrame, TurnRequest
from topics.trace_context import context_in

OnBusy = Literal["queue", "reject", "cancel_previous"]

#: Text of fewer code points fits into a record however it is spelt.
_SMALL_CHARS = 100_000

_TOO_MANY = events.Refuse("InvalidRequestError", "the thread has too many turns waiting: wait for some of them to end")
_BUSY = events.Refuse("InvalidRequestError", "the thread has an open turn: wait for its end, or set on_busy to queue")


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """What a desk needs to know beside the turns' policy. Times in seconds, sizes in bytes.

    `partitions` is the pipeline's number of partitions. `on_busy` says what becomes of a request whose thread is busy;
    `max_thread_turns` bounds how many turns of one thread may be open, so that no thread takes a worker's room, and
    `max_user_bytes` what a request says of its user, which goes along with each tool call. With `traced`, the trace that a
    request belongs to is kept. What only a newer version of the journal than `journal_version` can say is not written:
    released text is spelt out, and a turn is in a trace of its own.
    """

    partitions: int
    on_busy: OnBusy = "queue"
    max_thread_turns: int = 100
    max_request_bytes: int = 768 * 1024
    max_user_bytes: int = 512 * 1024
    max_frame_bytes: int = 900 * 1024
    threads: ThreadSettings = field(default_factory=ThreadSettings)
    idempotency_window_s: float = 24 * 3600.0
    traced: bool = False
    journal_version: int = JOURNAL_VERSION


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The effects of record `n` of a turn."""

    turn: TurnKey
    n: int
    effects: tuple[Publish, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What is kept of a closed turn: its outcome, where on `released` its terminal frame is, and since when."""

    outcome: str
    partition: int
    offset: int
    at: float


@dataclass(slots=True)
class Plan:
    """What follows from a batch of inputs. `journal` comes before everything else, then what threads `remember`.

    What is `decided` to be erased comes even before that; `answers` say so, and `erased` are subjects of the journal all of
    whose rows can go.

    `touched` turns may want other work than before, `closed` ones can be cleared from the journal but for their last
    record, `trims` are rows that threads have outgrown, `repeats` ask for a closed turn's terminal frame once more,
    `dropped` counts frames and tool results that changed nothing.
    """

    journal: list[tuple[TurnKey, JournalRecord]] = field(default_factory=list)
    remember: list[Row] = field(default_factory=list)
    trims: list[Trim] = field(default_factory=list)
    outgoing: list[Outgoing] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    touched: dict[TurnKey, None] = field(default_factory=dict)
    closed: list[TurnKey] = field(default_factory=list)
    repeats: list[tuple[TurnKey, Done]] = field(default_factory=list)
    decided: list[Row] = field(default_factory=list)
    answers: list[Erased] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    dropped: int = 0


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
        self.partition = partition
        self.chains = chains if isinstance(chains, ChainTable) else ChainTable(TurnChains(chains, None, open_scanner))
        self.settings = settings
        self.turns: dict[TurnKey, Turn] = {}
        self.done: dict[TurnKey, Done] = {}
        self._threads: dict[ThreadKey, deque[TurnKey]] = {}
        self._asked_again: dict[TurnKey, None] = {}
        self._confirmed: dict[TurnKey, int] = {}
        self.threads = Threads(settings.threads)
        self._eraser = Eraser()
        self.erasures = self._eraser.erasures
        self._meter = meter
        self._scans: dict[TurnKey, AnswerScan] = {}
        self._spells = settings.journal_version >= entries.MOVES_SINCE
        self._spelling: defaultdict[TurnKey, Spelling] = defaultdict(Spelling)
        self._wakeups = WakeUps()

    @property
    def policy(self) -> Policy:
        """What the operator decided, but for the chains: those are of each turn."""
        return self.chains.usual.policy

    # -- recovery -----------------------------------------------------------------------------------------------------

    def restore(
        self,
        journal: Mapping[TurnKey, Sequence[JournalRecord]],
        threads: Mapping[str, Rows] | None = None,
        erasures: Mapping[str, Rows] | None = None,
    ) -> Plan:
        """Rebuild the turns and threads from their journal, and what was erased of them, and return what is owed.

        That is: effects that may not have been published, what threads had no time to remember, and what was erased and is
        still there.

        Raises:
            JournalError: a turn's records are not consecutive, or a thread's row cannot be read.
        """
        plan = Plan()
        plan.answers, plan.erased = self.erasures.restore(erasures or {})
        self.threads.restore(threads or {})
        opened: list[Turn] = []
        for key, records in journal.items():
            last = records[-1]
            if isinstance(last.entry, entries.Closed) and self.erasures.covers(key):
                plan.erased.append(str(key))
            elif isinstance(last.entry, entries.Closed):
                self.done[key] = Done(last.entry.outcome, last.entry.partition, last.entry.offset, last.at)
                plan.closed.append(key)
            else:
                opened.append(self._replay(key, records, plan))
        for turn in sorted(opened, key=lambda turn: turn.order):
            self._remember(turn, plan)
            self._threads.setdefault(turn.key.thread, deque()).append(turn.key)
            plan.touched[turn.key] = None
            self._wakeups.by(turn.key, 0.0, 0.0)
        if plan.erased or len(self.erasures):
            plan.trims += [trim for thread in self.threads for trim in self.forget(thread)]
        plan.trims += self.threads.outgrown(busy=self._threads)
        return plan

    def _replay(self, key: TurnKey, records: Sequence[JournalRecord], plan: Plan) -> Turn:
        confirmed = max(record.confirmed for record in records)
        try:
            turn = self._told(machine.begin(records[0]), records)
            owed: list[Outgoing] = []
            for written in records[1:]:
                record = resolved(turn, written)
                if record.n > confirmed:
                    owed.append(Outgoing(key, record.n, effects_of(turn, record, self.policy.max_record_bytes)))
                turn = machine.evolve(turn, record)
        except ValueError as exc:
            raise JournalError(f"the journal of a turn in partition {self.partition} has a gap: {exc}") from None
        self.turns[key] = turn
        self._confirmed[key] = turn.confirmed
        plan.outgoing += owed
        if self._meter is not None:
            self._meter.resumed(turn, (effect for outgoing in owed for effect in outgoing.effects))
        return turn

    def startable(self) -> list[News]:
        """Return what is due after `restore`: the start of each thread's first turn, if it is still queued.

        And that a turn's pinned chains are gone from here. Also the ends that a crash cut off right after their turns were
        accepted: of requests that could not be read (they fail when they are started), and of those that met a busy thread
        with `on_busy="reject"`.
        """
        due: list[News] = []
        for queue in self._threads.values():
            busy = False
            for place, key in enumerate(queue):
                turn = self.turns[key]
                if self.chains.lacks(turn):
                    due.append(News(key, events.Rechain()))
                if turn.phase is Phase.QUEUED and (place == 0 or not turn.readable):
                    due.append(News(key, events.Start()))
                elif turn.phase is Phase.QUEUED and busy and self.settings.on_busy == "reject":
                    due.append(News(key, _BUSY))
                busy = busy or not turn.over
        return due

    # -- the daily work -----------------------------------------------------------------------------------------------

    def take(self, inputs: Iterable[Input], now: float) -> Plan:
        """Plan what follows from `inputs` at `now` (epoch seconds), and fold it into the turns' states.

        Inputs count in their order, except that frames come last, those of a turn together: one record, one release.
        """
        plan = Plan()
        frames: dict[TurnKey, list[ModelFrame]] = {}
        for item in inputs:
            if isinstance(item, News):
                self.happened(item.turn, item.event, now, plan)
            elif item.topic is names.FRAMES:
                self._frame(item, frames, now, plan)
            elif item.topic is names.TOOL_RESULTS:
                self._tool_result(item, now, plan)
            elif item.topic is names.ERASURES:
                self._eraser.take(self, item, now, plan)
            else:
                self._request(item, now, plan)
        for key, arrived in frames.items():
            written = len(plan.journal)
            self.happened(key, events.Frames(tuple(arrived)), now, plan)
            if len(plan.journal) == written:
                plan.dropped += len(arrived)
        for key in plan.touched:
            if (turn := self.turns.get(key)) is not None:
                self._wakeups.by(key, machine.wake_at(turn, self.chains.of(turn).policy), now)
        return plan

    def confirmed(self, key: TurnKey, n: int) -> None:
        """Note that the effects of a turn's records up to `n` are published; its next record will say so."""
        if key in self.turns:
            self._confirmed[key] = n

    def overdue(self, now: float, listening_since: float) -> list[News]:
        """Return a tick for every open turn that has waited longer than it may."""
        found: list[News] = []
        for key in self._wakeups.due(now):
            turn = self.turns.get(key)
            if turn is None or turn.over:
                continue
            at = machine.wake_at(turn, self.chains.of(turn).policy, listening_since)
            if at <= now:
                found.append(News(key, events.Tick(listening_since)))
                at = math.inf
            self._wakeups.by(key, at, now)
        return found

    def expired(self, now: float) -> list[str]:
        """Forget closed turns that no duplicate can ask for any more, and threads that fell silent long ago.

        Return their subjects in the journal: all their rows can go.
        """
        limit = now - self.settings.idempotency_window_s - 3600.0
        old = [key for key, done in self.done.items() if done.at < limit]
        for key in old:
            del self.done[key]
        return [*map(str, old), *self.threads.expired(now, busy=self._threads), *self.erasures.expired(limit)]

    def open_turns(self, thread: ThreadKey) -> Sequence[TurnKey]:
        """Return the open turns of a thread, in the order in which they run."""
        return tuple(self._threads.get(thread, ()))

    def forget(self, thread: ThreadKey) -> Sequence[Trim]:
        """Forget what a thread remembers of erased turns, once none of them is open; return what can go."""
        if any(map(self.erasures.covers, self.open_turns(thread))):
            return ()
        return self.threads.forget(thread, self.erasures.covers)

    def _is_over(self, key: TurnKey) -> bool:
        """Return whether a turn was here and is closed, though nothing else may be known of it any more."""
        return key in self.done or self.erasures.covers(key)

    def work(self, key: TurnKey) -> Work | None:
        """Return the chain run that a turn waits for, if it is open and waits for one, and it is settled which chains."""
        turn = self.turns.get(key)
        if turn is None or self.chains.lacks(turn):
            return None
        return work_of(turn, self.chains.of(turn).policy)

    # -- one input ----------------------------------------------------------------------------------------------------

    def _frame(self, source: Source, frames: dict[TurnKey, list[ModelFrame]], now: float, plan: Plan) -> None:
        size = source.size
        if size > self.settings.max_frame_bytes:
            reason = f"the frame has {size} bytes, at most {self.settings.max_frame_bytes} are taken: send smaller ones"
            self._refuse_frame(source, "RecordTooLargeError", reason, now, plan)
            return
        try:
            frame = codec.decode(source.value, names.MODEL_FRAME)
        except WireError as exc:
            self._refuse_frame(source, type(exc).__name__, str(exc), now, plan)
            return
        key = frame.turn
        arrived = frames.get(key)
        if arrived is not None:
            arrived.append(frame)
        elif key in self.turns:
            frames[key] = [frame]
        elif self._is_over(key):
            plan.dropped += 1
        else:
            reason = "the frame is about a turn that is not open here: check its ids and the partition it was sent to"
            plan.refused.append(Refused(source, "UnknownTurnError", reason, key))

    def _tool_result(self, source: Source, now: float, plan: Plan) -> None:
        try:
            result = codec.decode(source.value, names.TOOL_RESULT)
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc), codec.identify(source.value)))
            return
        key = result.turn
        if key not in self.turns and not self._is_over(key):
            reason = "the result is for a turn that is not open here: check its ids and the partition it was sent to"
            plan.refused.append(Refused(source, "UnknownTurnError", reason, key))
            return
        written = len(plan.journal)
        self.happened(key, events.ToolsAnswered((result,)), now, plan)
        plan.dropped += len(plan.journal) == written

    def _refuse_frame(self, source: Source, error: str, reason: str, now: float, plan: Plan) -> None:
        """Dead-letter a frame that cannot be taken, and fail the open turn it names: its answer can never be whole."""
        key = codec.identify(source.value)
        plan.refused.append(Refused(source, error, reason, key))
        if key is not None:
            message = "a frame of the answer could not be taken: see dead-letters"
            self.happened(key, events.Refuse("ModelFailedError", message), now, plan)

    def _request(self, source: Source, now: float, plan: Plan) -> None:
        size = source.size
        if size > self.settings.max_request_bytes:
            reason = f"the request has {size} bytes, at most {self.settings.max_request_bytes} are taken: send urls"
            self._refuse_request(source, "RecordTooLargeError", reason, now, plan)
            return
        try:
            request = codec.decode(source.value, names.REQUEST)
        except WireError as exc:
            self._refuse_request(source, type(exc).__name__, str(exc), now, plan)
            return
        right = request.turn.thread.partition(self.settings.partitions)
        if right != source.partition:
            reason = f"the record belongs in partition {right}: key it by tenant/thread_id and use murmur2"
            plan.refused.append(Refused(source, "WrongPartitionError", reason, request.turn))
            return
        if isinstance(request, CancelTurn):
            if request.turn in self.turns:
                self.happened(request.turn, events.Cancel(), now, plan)
            return
        window_s = self.settings.idempotency_window_s
        if source.written_at is not None and source.written_at < now - window_s:
            reason = f"the request is older than {window_s:.0f} s, and its turn may be over: send it as a new turn"
            self._refuse_request(source, "ExpiredRequestError", reason, now, plan)
            return
        if request.user is not None and len(request.user.model_dump_json().encode()) > self.settings.max_user_bytes:
            reason = f"the request's user takes over {self.settings.max_user_bytes} bytes: say less of them"
            self._refuse_request(source, "RecordTooLargeError", reason, now, plan)
            return
        self._submit(request, source, now, plan)

    def _submit(self, request: TurnRequest, source: Source, now: float, plan: Plan) -> None:
        key = request.turn
        if key in self.turns:
            if self.turns[key].over:
                # Its end may have been told before this caller began to listen.
                self._asked_again[key] = None
            return
        if key in self.done:
            plan.repeats.append((key, self.done[key]))
            return
        if self.erasures.covers(key):
            plan.dropped += 1
            return
        entry = machine.accept(
            request,
            partition=self.partition,
            order=source.offset,
            now=now,
            policy=self.policy,
            trace=self._trace_of(source),
        )
        if not self._fits(entry):
            reason = f"the request takes over {self.policy.max_entry_bytes} bytes once written out: send less in it"
            self._refuse_request(source, "RecordTooLargeError", reason, now, plan)
            return
        waiting = self._threads.get(key.thread, ())
        # A turn whose outcome is decided does not count: its caller may have been told of it before it is closed here.
        if self.settings.on_busy == "cancel_previous":
            # Before the new turn is journaled: a crash in between then leaves a request that comes again.
            for previous in [turn for turn in waiting if not self.turns[turn].over]:
                self.happened(previous, events.Cancel(), now, plan)
        rejected = self.settings.on_busy == "reject" and any(not self.turns[turn].over for turn in waiting)
        too_many = len(waiting) >= self.settings.max_thread_turns
        self._accept(entry, now, plan)
        if rejected or too_many:
            self.happened(key, _BUSY if rejected else _TOO_MANY, now, plan)

    def _trace_of(self, source: Source) -> str | None:
        kept = self.settings.traced and self.settings.journal_version >= entries.TRACE_SINCE
        context = context_in(source.headers) if kept else None
        return str(context) if context is not None else None

    def _accept(self, entry: entries.Accepted, now: float, plan: Plan) -> None:
        key = entry.request.turn
        record = JournalRecord(n=0, at=now, confirmed=-1, entry=entry)
        self.turns[key] = machine.begin(record)
        self._confirmed[key] = -1
        self._wakeups.by(key, self.turns[key].deadline_at, now)
        plan.journal.append((key, record))
        queue = self._threads.setdefault(key.thread, deque())
        queue.append(key)
        if len(queue) == 1 and entry.readable:
            self.happened(key, events.Start(), now, plan)

    def _refuse_request(self, source: Source, error: str, reason: str, now: float, plan: Plan) -> None:
        """Dead-letter a request that cannot be taken, and end its turn visibly if it names one that is not known."""
        key = codec.identify(source.value)
        plan.refused.append(Refused(source, error, reason, key))
        if key is None or key in self.turns or self._is_over(key) or codec.is_cancel(source.value):
            return
        if key.thread.partition(self.settings.partitions) != source.partition:
            return
        stand_in = TurnRequest(
            tenant=key.tenant, thread_id=key.thread_id, turn_id=key.turn_id, message=(TextPart(text=""),)
        )
        entry = machine.accept(
            stand_in,
            partition=self.partition,
            order=source.offset,
            now=now,
            policy=self.policy,
            readable=False,
            trace=self._trace_of(source),
        )
        self._accept(entry, now, plan)
        self.happened(key, events.Refuse("InvalidRequestError", reason), now, plan)

    # -- one turn -----------------------------------------------------------------------------------------------------

    def happened(self, key: TurnKey, event: events.Event, now: float, plan: Plan) -> None:
        """Plan what follows from an event of an open turn; nothing if it is not open."""
        turn = self.turns.get(key)
        if turn is None:
            return
        plan.touched[key] = None
        if isinstance(event, events.Start):
            turn = self._told(turn)
        afford = self._meter is None or self._meter.afford(turn, now)
        chains = self.chains.of(turn)
        for entry in machine.decide(turn, event, now, chains.policy, self._scan(key, chains), afford=afford):
            record = JournalRecord(n=turn.n, at=now, confirmed=self._confirmed[key], entry=self._fitting(entry))
            plan.journal.append((key, self._spelling[key].spelt(turn, record) if self._spells else record))
            effects = effects_of(turn, record, self.policy.max_record_bytes)
            plan.outgoing.append(Outgoing(key, record.n, effects))
            before, turn = turn, machine.evolve(turn, record)
            if self._meter is not None:
                self._meter.note(before, turn, effects, now)
            self.turns[key] = turn
            self._remember(turn, plan)
            if turn.over:
                # Perhaps because an entry was too large, and a failure took its place: what followed from it does not.
                break
        if turn.phase is Phase.CLOSED:
            self._close(turn, now, plan)

    def _told(self, turn: Turn, records: Iterable[JournalRecord] = ()) -> Turn:
        """Return `turn` with what its model is told of the thread: the same for one whose `records` say it has begun.

        Also with when its user's turns before it were, as far as they are known now: for pre-processors, whose word is
        journaled.
        """
        if self._meter is not None and self._meter.counts_turns:
            turn = turn.with_(recent=self._recent(turn, self._meter))
        if turn.stateless:
            return turn
        for record in records:
            if isinstance(record.entry, entries.Started):
                return turn.with_(history=self.threads.newest(turn.key, record.entry.told))
        return turn.with_(history=self.threads.history(turn.key, turn.request.agent))

    def _recent(self, turn: Turn, meter: UsageMeter) -> tuple[float, ...]:
        seen = dict(meter.recent(turn))
        for key, at in self.threads.recent(turn.key, turn.user_id).items():
            seen[key] = max(at, seen.get(key, at))
        return tuple(sorted(seen.values()))

    def _remember(self, turn: Turn, plan: Plan) -> None:
        if turn.phase is Phase.ENDED and not self.erasures.covers(turn.key):
            plan.remember += self.threads.remember(turn)

    def _scan(self, key: TurnKey, chains: TurnChains) -> AnswerScan | None:
        if chains.open_scanner is None:
            return None
        return self._scans.setdefault(key, AnswerScan(chains.open_scanner))

    def _fitting(self, entry: entries.AnyEntry) -> entries.AnyEntry:
        """Return `entry`, or a failure in its place if it cannot be journaled in one record."""
        if _is_small(entry) or self._fits(entry):
            return entry
        if isinstance(entry, entries.Llm) and entry.rejected is None:
            message = "a frame of the answer is too large for a record: have the model server write smaller ones"
            return entries.Failed(error="AnswerTooLargeError", phase="model", message=message)
        return entries.Failed(
            error="ProcessorFailedError",
            message=f"what {entry.checkpoint} produced does not fit into a record: have processors return less",
        )

    def _fits(self, entry: entries.AnyEntry) -> bool:
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
        queue = self._threads[key.thread]
        queue.remove(key)
        if erased:
            plan.trims += self.forget(key.thread)
        if not queue:
            del self._threads[key.thread]
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
