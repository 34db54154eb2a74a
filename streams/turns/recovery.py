"""From the journal back to the turns: what a partition's new owner takes over, what is owed, and what is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streams.gate import entries, events, machine
from streams.gate.effects import effects_of
from streams.gate.moves import resolved
from streams.gate.records import JournalError, JournalRecord
from streams.gate.state import Phase, Turn
from streams.journal.replay import Rows
from streams.steps import Steps
from streams.turns.inputs import News
from streams.turns.plan import Done, Outgoing, Plan
from streams.turns.requests import BUSY
from streams.turns.states import States
from topics.ids import TurnKey


def restore(
    states: States,
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
    plan = Plan()
    plan.answers, plan.erased = states.erasures.restore(erasures or {})
    yield from states.threads.restore(threads or {})
    opened: list[Turn] = []
    for key, records in journal.items():
        yield
        last = records[-1]
        if isinstance(last.entry, entries.Closed) and states.erasures.covers(key):
            plan.erased.append(str(key))
        elif isinstance(last.entry, entries.Closed):
            states.done[key] = Done(last.entry.outcome, last.entry.partition, last.entry.offset, last.at)
            plan.closed.append(key)
        else:
            opened.append((yield from _replay(states, key, records, plan)))
    for turn in sorted(opened, key=lambda turn: turn.order):
        yield
        states.remember(turn, plan)
        states.resume(turn)
        plan.touched[turn.key] = None
    if plan.erased or len(states.erasures):
        plan.trims += [trim for thread in states.threads for trim in states.forget(thread)]
    plan.trims += states.threads.outgrown(busy=states.queues)
    return plan


def _replay(states: States, key: TurnKey, records: Sequence[JournalRecord], plan: Plan) -> Steps[Turn]:
    confirmed = max(record.confirmed for record in records)
    try:
        turn = states.told(machine.begin(records[0]), records)
        owed: list[Outgoing] = []
        for written in records[1:]:
            yield
            record = resolved(turn, written)
            if record.n > confirmed:
                owed.append(Outgoing(key, record.n, effects_of(turn, record, states.policy.max_record_bytes)))
            turn = machine.evolve(turn, record)
    except ValueError as exc:
        raise JournalError(f"the journal of a turn in partition {states.partition} has a gap: {exc}") from None
    plan.outgoing += owed
    if states.meter is not None:
        states.meter.resumed(turn, (effect for outgoing in owed for effect in outgoing.effects))
    return turn


def startable(states: States) -> list[News]:
    """Return what is due after `restore`: the start of each thread's first turn, if it is still queued.

    And that a turn's pinned chains are gone from here. Also the ends that a crash cut off right after their turns were
    accepted: of requests that could not be read (they fail when they are started), and of those that met a busy thread
    with `on_busy="reject"`.
    """
    due: list[News] = []
    for queue in states.queues.values():
        busy = False
        for place, key in enumerate(queue):
            turn = states.turns[key]
            if states.chains.lacks(turn):
                due.append(News(key, events.Rechain()))
            if turn.phase is Phase.QUEUED and (place == 0 or not turn.readable):
                due.append(News(key, events.Start()))
            elif turn.phase is Phase.QUEUED and busy and states.settings.on_busy == "reject":
                due.append(News(key, BUSY))
            busy = busy or not turn.over
    return due
