"""Requests and cancels: which are taken, which are turned away, and what becomes of the turn that they name."""

from __future__ import annotations

from streams.gate import entries, events, machine
from streams.sources import Refused, Source
from streams.turns.plan import Plan
from streams.turns.states import States
from topics import codec, names
from topics.content import TextPart
from topics.errors import WireError
from topics.records import CancelTurn, TurnRequest
from topics.trace_context import context_in

_TOO_MANY = events.Refuse("InvalidRequestError", "the thread has too many turns waiting: wait for some of them to end")
#: What happens to a turn whose thread has an open one, where the operator wants such turns refused.
BUSY = events.Refuse("InvalidRequestError", "the thread has an open turn: wait for its end, or set on_busy to queue")


class Requests:
    """Takes the records of `requests` for one partition's turns."""

    def __init__(self, states: States) -> None:
        self._states = states

    def take(self, source: Source, now: float, plan: Plan) -> None:
        """Plan what follows from a request or a cancel at `now` (epoch seconds)."""
        states, settings = self._states, self._states.settings
        size = source.size
        if size > settings.max_request_bytes:
            reason = f"the request has {size} bytes, at most {settings.max_request_bytes} are taken: send urls"
            self._refuse_request(source, "RecordTooLargeError", reason, now, plan)
            return
        try:
            request = codec.decode(source.value, names.REQUEST)
        except WireError as exc:
            self._refuse_request(source, type(exc).__name__, str(exc), now, plan)
            return
        right = request.turn.thread.partition(settings.partitions)
        if right != source.partition:
            reason = f"the record belongs in partition {right}: key it by tenant/thread_id and use murmur2"
            plan.refused.append(Refused(source, "WrongPartitionError", reason, request.turn))
            return
        if isinstance(request, CancelTurn):
            if request.turn in states.turns:
                states.happened(request.turn, events.Cancel(), now, plan)
            return
        window_s = settings.idempotency_window_s
        if source.written_at is not None and source.written_at < now - window_s:
            reason = f"the request is older than {window_s:.0f} s, and its turn may be over: send it as a new turn"
            self._refuse_request(source, "ExpiredRequestError", reason, now, plan)
            return
        if request.user is not None and len(request.user.model_dump_json().encode()) > settings.max_user_bytes:
            reason = f"the request's user takes over {settings.max_user_bytes} bytes: say less of them"
            self._refuse_request(source, "RecordTooLargeError", reason, now, plan)
            return
        self._submit(request, source, now, plan)

    def _submit(self, request: TurnRequest, source: Source, now: float, plan: Plan) -> None:
        states, settings = self._states, self._states.settings
        key = request.turn
        if key in states.turns:
            if states.turns[key].over:
                # Its end may have been told before this caller began to listen.
                states.ask_again(key)
            return
        if key in states.done:
            plan.repeats.append((key, states.done[key]))
            return
        if states.erasures.covers(key):
            plan.dropped += 1
            return
        entry = machine.accept(
            request,
            partition=states.partition,
            order=source.offset,
            now=now,
            policy=states.policy,
            trace=self._trace_of(source),
        )
        if not states.fits(entry):
            reason = f"the request takes over {states.policy.max_entry_bytes} bytes once written out: send less in it"
            self._refuse_request(source, "RecordTooLargeError", reason, now, plan)
            return
        waiting = states.queues.get(key.thread, ())
        # A turn whose outcome is decided does not count: its caller may have been told of it before it is closed here.
        if settings.on_busy == "cancel_previous":
            # Before the new turn is journaled: a crash in between then leaves a request that comes again.
            for previous in [turn for turn in waiting if not states.turns[turn].over]:
                states.happened(previous, events.Cancel(), now, plan)
        rejected = settings.on_busy == "reject" and any(not states.turns[turn].over for turn in waiting)
        too_many = len(waiting) >= settings.max_thread_turns
        states.accept(entry, now, plan)
        if rejected or too_many:
            states.happened(key, BUSY if rejected else _TOO_MANY, now, plan)

    def _refuse_request(self, source: Source, error: str, reason: str, now: float, plan: Plan) -> None:
        """Dead-letter a request that cannot be taken, and end its turn visibly if it names one that is not known."""
        states, settings = self._states, self._states.settings
        key = codec.identify(source.value)
        plan.refused.append(Refused(source, error, reason, key))
        if key is None or key in states.turns or states.is_over(key) or codec.is_cancel(source.value):
            return
        if key.thread.partition(settings.partitions) != source.partition:
            return
        stand_in = TurnRequest(
            tenant=key.tenant, thread_id=key.thread_id, turn_id=key.turn_id, message=(TextPart(text=""),)
        )
        entry = machine.accept(
            stand_in,
            partition=states.partition,
            order=source.offset,
            now=now,
            policy=states.policy,
            readable=False,
            trace=self._trace_of(source),
        )
        states.accept(entry, now, plan)
        states.happened(key, events.Refuse("InvalidRequestError", reason), now, plan)

    def _trace_of(self, source: Source) -> str | None:
        kept = self._states.settings.traced and self._states.settings.journal_version >= entries.TRACE_SINCE
        context = context_in(source.headers) if kept else None
        return str(context) if context is not None else None
