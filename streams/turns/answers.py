"""What runners answer: frames of model calls and results of tool calls, each put to the open turn that it is about."""

from __future__ import annotations

from streams.gate import events
from streams.sources import Refused, Source
from streams.turns.plan import Plan
from streams.turns.states import States
from topics import codec, names
from topics.errors import WireError
from topics.ids import TurnKey
from topics.records import ModelFrame


class Answers:
    """Takes the records of `frames` and `tool-results` for one partition's turns."""

    def __init__(self, states: States) -> None:
        self._states = states

    def gather(self, source: Source, frames: dict[TurnKey, list[ModelFrame]], now: float, plan: Plan) -> None:
        """Add a frame to those in the batch that are about the same turn; plan its refusal if it cannot be taken."""
        states, settings = self._states, self._states.settings
        size = source.size
        if size > settings.max_frame_bytes:
            reason = f"the frame has {size} bytes, at most {settings.max_frame_bytes} are taken: send smaller ones"
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
        elif key in states.turns:
            frames[key] = [frame]
        elif states.is_over(key):
            plan.dropped += 1
        else:
            reason = "the frame is about a turn that is not open here: check its ids and the partition it was sent to"
            plan.refused.append(Refused(source, "UnknownTurnError", reason, key))

    def take_frames(self, frames: dict[TurnKey, list[ModelFrame]], now: float, plan: Plan) -> None:
        """Plan what follows from a batch's frames, those of a turn together: one record, one release."""
        for key, arrived in frames.items():
            written = len(plan.journal)
            self._states.happened(key, events.Frames(tuple(arrived)), now, plan)
            if len(plan.journal) == written:
                plan.dropped += len(arrived)

    def take_result(self, source: Source, now: float, plan: Plan) -> None:
        """Plan what follows from the result of a tool call."""
        states = self._states
        try:
            result = codec.decode(source.value, names.TOOL_RESULT)
        except WireError as exc:
            plan.refused.append(Refused(source, type(exc).__name__, str(exc), codec.identify(source.value)))
            return
        key = result.turn
        if key not in states.turns and not states.is_over(key):
            reason = "the result is for a turn that is not open here: check its ids and the partition it was sent to"
            plan.refused.append(Refused(source, "UnknownTurnError", reason, key))
            return
        written = len(plan.journal)
        states.happened(key, events.ToolsAnswered((result,)), now, plan)
        plan.dropped += len(plan.journal) == written

    def _refuse_frame(self, source: Source, error: str, reason: str, now: float, plan: Plan) -> None:
        """Dead-letter a frame that cannot be taken, and fail the open turn it names: its answer can never be whole."""
        key = codec.identify(source.value)
        plan.refused.append(Refused(source, error, reason, key))
        if key is not None:
            message = "a frame of the answer could not be taken: see dead-letters"
            self._states.happened(key, events.Refuse("ModelFailedError", message), now, plan)
