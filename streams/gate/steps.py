"""What follows from an answer that asks for tools: which calls are made, what comes back, and the step after them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from processors.outcomes import Broken, Denied, Report
from streams.gate import entries, events
from streams.gate.costs import added
from streams.gate.entries import AnyEntry, ToolReturn
from streams.gate.failures import broken
from streams.gate.limits import prompt_too_long
from streams.gate.policy import Policy
from streams.gate.state import Answer, Attempts, Phase, Turn
from topics.content import Message, ToolCall
from topics.records import Phase as PhaseName
from topics.records import ToolResult

#: What tools get beyond their own limit, in seconds, to report that they ran out of it.
GRACE_S = 10.0
#: The longest id of a tool call: it is part of a journal's keys.
_MAX_ID_CHARS = 200
#: Answers that were cut off: what they ask tools for may be cut off too.
_CUT_OFF = frozenset({"length", "content_filter"})

_UNKNOWN = "there is no such tool"
_DENIED = "this call is not allowed"
_TIMED_OUT = "the tool did not answer in time"
_TOO_LARGE = "the tool's answer is too large"


def to_run(turn: Turn, calls: Sequence[ToolCall], finish_reason: str | None) -> tuple[ToolCall, ...]:
    """Return the calls that are to be run now that the step's answer passed: none if it ends the turn.

    Each gets an id of its own where the model gave it none, one twice, or one without end.
    """
    if not turn.runs_tools or finish_reason in _CUT_OFF:
        return ()
    given = {call.id for call in calls}
    known: set[str] = set()
    named: list[ToolCall] = []
    for index, call in enumerate(calls):
        own = call.id
        if not own or own in known or len(own) > _MAX_ID_CHARS:
            own = f"call-{turn.step}-{index}"
            while own in given or own in known:
                own += "x"
        known.add(own)
        named.append(call if own == call.id else call.model_copy(update={"id": own}))
    return tuple(named)


def one_too_many(turn: Turn) -> entries.Failed | None:
    """Return how the turn fails if it may take no step after this one."""
    persona = turn.started.persona
    if persona is None or turn.step + 1 < persona.max_steps:
        return None
    return entries.Failed(
        error="ModelFailedError",
        phase="model",
        message=f"the model asks for tools in step {turn.step}, the last one it may take: raise the agent's max_steps",
    )


def settled_live(turn: Turn, answer: Answer, entry: entries.Llm) -> AnyEntry:
    """Return the entry that settles an `answer` without an output chain, with the calls that follow from it."""
    calls = to_run(turn, answer.tool_calls, answer.finish_reason)
    return (one_too_many(turn) if calls else None) or entry.model_copy(update={"calls": calls})


# -- the fold ---------------------------------------------------------------------------------------------------------


def step_over(turn: Turn, calls: tuple[ToolCall, ...], at: float) -> Turn:
    """Return `turn`, whose step's answer is settled at `at`, on its way through the tools."""
    said = Message(role="assistant", content=turn.step_text or None, tool_calls=calls)
    persona = turn.started.persona
    offered = {tool.name for tool in persona.tools} if persona else set()
    unknown = {call.id: ToolReturn(call_id=call.id, error=_UNKNOWN) for call in calls if call.name not in offered}
    turn = turn.with_(messages=(*turn.messages, said), calls=calls, results=unknown, progress_at=at)
    return turn.with_(phase=Phase.RULES) if turn.started.rules and pending(turn) else tools_answered(turn, (), at)


def tools_answered(turn: Turn, results: Iterable[ToolReturn], at: float) -> Turn:
    """Return `turn` after `results`: once all calls are answered, in its next step."""
    turn = turn.with_(phase=Phase.TOOLS, results={**turn.results, **{one.call_id: one for one in results}})
    if pending(turn):
        return turn
    told = tuple(_told(call, turn.results[call.id]) for call in turn.calls)
    carry = turn.started.carry
    turn = turn.with_(
        phase=Phase.INPUT if turn.started.input else Phase.MODEL,
        step=turn.step + 1,
        attempt=0,
        attempts=Attempts(fallbacks=turn.attempts.fallbacks, model=turn.attempts.model),
        settled=turn.answer.released if carry else turn.settled.append(turn.step_text),
        carried=turn.answer.text if carry else turn.carried,
        messages=(*turn.messages, *told),
        calls=(),
        results={},
        spent=added(turn.spent, turn.answer.usage),
        prompt=None,
        progress_at=at,
    )
    return turn.with_(answer=turn.fresh_answer())


def pending(turn: Turn) -> tuple[ToolCall, ...]:
    """Return the calls that nothing has come back of yet."""
    return tuple(call for call in turn.calls if call.id not in turn.results)


def _told(call: ToolCall, result: ToolReturn) -> Message:
    content = f"error: {result.error}" if result.error is not None else result.content
    return Message(role="tool", name=call.name, tool_call_id=call.id, content=content if content is not None else "")


# -- decisions --------------------------------------------------------------------------------------------------------


def rules_done(turn: Turn, event: events.RulesDone) -> AnyEntry:
    """Return what follows from what the rules said about the step's calls, each in turn."""
    denied: list[ToolReturn] = []
    reports: list[Report] = []
    for call, outcome in zip(pending(turn), event.outcomes, strict=False):
        reports += outcome.reports
        if isinstance(outcome, Broken):
            return broken("governance", outcome, tuple(reports))
        if isinstance(outcome, Denied):
            denied.append(ToolReturn(call_id=call.id, error=_DENIED))
    return entries.CallsGoverned(step=turn.step, denied=tuple(denied), reports=tuple(reports))


def answered(turn: Turn, event: events.ToolsAnswered, policy: Policy) -> Sequence[AnyEntry]:
    """Return what follows from tool results: those that nobody waits for, or that came before, change nothing."""
    awaited = {call.id for call in pending(turn)}
    fresh: dict[str, ToolReturn] = {}
    for result in event.results:
        if (result.step, result.attempt) == (turn.step, turn.attempt) and result.tool_call_id in awaited:
            fresh.setdefault(result.tool_call_id, _returned(result, policy))
    # One entry each: several together might not fit into a record.
    return [entries.ToolsReturned(step=turn.step, results=(one,)) for one in fresh.values()]


def timed_out(turn: Turn) -> AnyEntry:
    """Return what follows from tools that did not answer."""
    late = tuple(ToolReturn(call_id=call.id, error=_TIMED_OUT) for call in pending(turn))
    return entries.ToolsReturned(step=turn.step, results=late)


def patience_s(turn: Turn, calls: Sequence[ToolCall]) -> float:
    """Return how long, in seconds, `calls` may take."""
    persona = turn.started.persona
    limits = [persona.timeouts.get(call.name, 0.0) for call in calls] if persona else []
    return max(limits, default=0.0) + GRACE_S


def cannot_begin(before: Turn, turn: Turn, policy: Policy, *, afford: bool) -> entries.Failed | None:
    """Return how a turn that is about to begin a step fails instead: out of tokens, or with too much to say.

    The first step's tokens are asked for where the organisation's rules are, and `before` is what the turn was until now.
    """
    if turn.step and not afford:
        return entries.Failed(error="InvalidRequestError", phase="governance", message=policy.budget_reply)
    phase: PhaseName = "tools" if turn.step else "pre" if before.phase is Phase.PRE else "input"
    return prompt_too_long(turn, turn.base_prompt(), phase, policy)


def _returned(result: ToolResult, policy: Policy) -> ToolReturn:
    size = len(result.model_dump_json(include={"content", "error"}).encode())
    if size > policy.max_tool_result_bytes:
        return ToolReturn(call_id=result.tool_call_id, error=_TOO_LARGE)
    return ToolReturn(call_id=result.tool_call_id, content=result.content, error=result.error)
