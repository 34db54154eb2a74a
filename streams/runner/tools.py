"""The tool runner: its calls are those of an answer's tools, each has one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streams.journal.owner import Logs
from streams.journal.replay import Replay
from streams.runner.kind import CallKey, CallKind
from streams.runner.loop import Ports
from streams.runner.worker import AnswerSender, Runner, RunnerSettings
from streams.tools.answers import INTERRUPTED, MAX_RESULT_BYTES, result_of
from streams.tools.pool import ToolPool, log_interrupted
from streams.tools.ports import ToolHost, ToolObserver
from topics import names
from topics.records import ToolCallRequest, ToolResult


def _interrupted(call: CallKey) -> ToolResult:
    return result_of(call.record(), call.call_id or "", INTERRUPTED)


TOOL_CALLS: CallKind[ToolCallRequest] = CallKind(
    names.TOOL_CALLS, names.TOOL_CALL, names.TOOL_RESULTS, "tools", _interrupted, log_interrupted
)


class ToolRunner(Runner[ToolCallRequest]):
    """Calls the tools of all partitions it owns, at most `settings.max_calls` at once; `host` runs them."""

    def __init__(
        self,
        host: ToolHost,
        ports: Ports,
        logs: Logs,
        settings: RunnerSettings,
        *,
        max_result_bytes: int = MAX_RESULT_BYTES,
        observer: ToolObserver | None = None,
        replays: Callable[[], Mapping[int, Replay]],
        unique: Callable[[], str],
    ) -> None:
        pool = ToolPool(
            host,
            AnswerSender(TOOL_CALLS, ports).send,
            on_fatal=ports.fatal,
            now=ports.clock,
            max_calls=settings.max_calls,
            max_result_bytes=max_result_bytes,
            observer=observer,
        )
        super().__init__(TOOL_CALLS, pool, ports, logs, settings, replays=replays, unique=unique)
