"""Erases threads of one partition, on an operator's word from the topic `erasures`.

All state of a thread is in journals that only their owners may write. So whoever wants a thread erased publishes that
wish, and the partition's owner carries it out, in the order of everything else that it does:

    1. decide     which turns are meant: those open, closed or remembered now. Turns that come later are not: the next one
                  of the thread starts without a history
    2. journal    the decision first, as digests (`erasures`); open turns are cancelled after it, in the same append
    3. answer     the wish is answered on `erasures`, durably, and only then acknowledged
    4. clear      tombstones for all rows of those turns, and of the threads' memory; those of a turn that was open when
                  its end is published and it is closed

A crash before 2 is a wish that comes again; after 2 the decision holds, and what remains of 3 and 4 is owed. A wish that
comes again is recognised by its id. Open turns stand in the way unless `cancel_open`: then nothing is done, and the
answer says so, because a turn that goes on would write into what was erased.

Runners, whose journals hold no more than which calls were made, act on the answer (`streams.runner.desk`).
"""

from __future__ import annotations

from streams.gate import events
from streams.sources import Refused, Source
from streams.turns.plan import Plan
from streams.turns.states import States
from topics import codec, names
from topics.errors import WireError
from topics.ids import ThreadKey, TurnKey
from topics.records import Erase, Erased

#: Threads in one answer, which names them: it has to fit into a record.
MAX_THREADS = 500


class Eraser:
    """Takes the records of `erasures` for one partition's turns, and plans what an operator's wish asks of them."""

    def __init__(self, states: States) -> None:
        self._states = states

    def take(self, source: Source, now: float, plan: Plan) -> None:
        """Plan what follows from a record on `erasures` at `now` (epoch seconds)."""
        states, settings = self._states, self._states.settings
        try:
            wish = codec.decode(source.value, names.ERASURE)
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc)))
            return
        if isinstance(wish, Erased):
            return
        window_s = settings.idempotency_window_s
        if source.written_at is not None and source.written_at < now - window_s:
            # What was decided on it may be forgotten by now, and it would erase what came after it.
            reason = f"the erasure is older than {window_s:.0f} s: ask for it again"
            plan.refused.append(Refused(source, "ExpiredRequestError", reason))
            return
        if (wish.thread_id is None) == (wish.user_id is None):
            reason = "the erasure names no thread and no user, or both: give either thread_id or user_id"
            plan.refused.append(Refused(source, "MalformedRecordError", reason))
            return
        if wish.thread_id is not None:
            right = ThreadKey(wish.tenant, wish.thread_id).partition(settings.partitions)
            if right != source.partition:
                reason = f"the thread belongs in partition {right}: publish what is to be done with it there"
                plan.refused.append(Refused(source, "WrongPartitionError", reason))
                return
        if states.erasures.knows(wish.id):
            # A crash may have come between the decision and the ends of the turns that were open.
            self._cancel([key for key in states.turns if states.erasures.covers(key)], now, plan)
            return
        self._erase(wish, now, plan)

    def _erase(self, wish: Erase, now: float, plan: Plan) -> None:
        states = self._states
        found = _threads_of(states, wish)
        threads = found[:MAX_THREADS]
        opened = [key for thread in threads for key in states.open_turns(thread)]
        going = [key for key in opened if not states.turns[key].over]
        answer = Erased(
            id=wish.id,
            tenant=wish.tenant,
            role="turns",
            partition=states.partition,
            threads=tuple(thread.thread_id for thread in threads),
            open=len(going),
            more=len(found) > len(threads),
            at=now,
        )
        if going and not wish.cancel_open:
            # Not more either: to ask again at once, as for what did not fit into an answer, would lead to the same.
            plan.answers.append(answer.model_copy(update={"refused": True, "threads": (), "more": False}))
            return
        meant = set(threads)
        closed = [key for key in states.done if key.thread in meant]
        remembered = [key for thread in threads for key in states.threads.turns_of(thread)]
        answer = answer.model_copy(update={"turns": len(opened) + len(closed), "remembered": len(set(remembered))})
        plan.decided += states.erasures.decide(answer, [*opened, *closed, *remembered])
        plan.answers.append(answer)
        for key in closed:
            del states.done[key]
            plan.erased.append(str(key))
        for thread in threads:
            plan.trims += states.forget(thread)
        self._cancel(going, now, plan)

    def _cancel(self, turns: list[TurnKey], now: float, plan: Plan) -> None:
        for key in turns:
            self._states.happened(key, events.Cancel(), now, plan)


def _threads_of(states: States, wish: Erase) -> list[ThreadKey]:
    """Return the threads that are meant: the one that is named, or those in which the user spoke, as far as is known."""
    if wish.thread_id is not None:
        return [ThreadKey(wish.tenant, wish.thread_id)]
    spoke = [
        key.thread for key, turn in states.turns.items() if key.tenant == wish.tenant and turn.user_id == wish.user_id
    ]
    return list(dict.fromkeys([*states.threads.of_user(wish.tenant, wish.user_id), *spoke]))
