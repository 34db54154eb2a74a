"""The model runner: its calls are a model's, their answers are frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.journal.owner import Logs
from streams.journal.replay import Replay
from streams.models.call import AdapterFor, log_failure
from streams.models.calls import CallPool
from streams.models.frames import INTERRUPTED, interrupted_frame
from streams.runner.kind import CallKey, CallKind
from streams.runner.loop import Ports
from streams.runner.worker import AnswerSender, Runner, RunnerSettings
from topics import names
from topics.records import ModelFrame, PromptRequest


def _interrupted(call: CallKey) -> ModelFrame:
    return interrupted_frame(call.record())


def _log_interrupted(call: CallKey) -> None:
    log_failure(call.record(), INTERRUPTED)


MODEL_CALLS: CallKind[PromptRequest] = CallKind(
    names.PROMPTS, names.PROMPT_REQUEST, names.FRAMES, "models", _interrupted, _log_interrupted
)


class ModelRunner(Runner[PromptRequest]):
    """Makes the model calls of all partitions it owns, at most `max_calls` at once."""

    def __init__(
        self,
        adapter_for: AdapterFor,
        ports: Ports,
        logs: Logs,
        *,
        partitions: int,
        max_calls: int,
        keep_s: float,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        send = AnswerSender(MODEL_CALLS, ports).send
        pool = CallPool(adapter_for, send, on_fatal=ports.fatal, now=ports.clock, max_calls=max_calls)
        settings = RunnerSettings(partitions, max_calls, keep_s)
        super().__init__(MODEL_CALLS, pool, ports, logs, settings, replays=replays, unique=unique)
