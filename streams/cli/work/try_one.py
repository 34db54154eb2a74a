"""One processor run here on one input: what it would be shown in a turn, and what it makes of that."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from processors.board import Choice, Plan
from processors.contracts import (
    Answer,
    IncomingMessage,
    Part,
    Prompt,
    Reply,
    TextPart,
    ToolCall,
    ToolCallCheck,
    TurnContext,
    User,
)
from processors.outcomes import (
    Allowed,
    Approved,
    Blocked,
    Broken,
    Denied,
    Derived,
    Modified,
    Proceeded,
    Refused,
    Report,
)
from streams.chains import ChainRunner
from streams.cli import output, session
from streams.cli.failures import FAILED, OK, CommandError
from streams.cli.work.deploy import find, parsed, runner_of

Outcome = Approved | Refused | Broken | Derived | Proceeded | Blocked | Allowed | Denied | Modified

_PARTS: TypeAdapter[tuple[Part, ...]] = TypeAdapter(tuple[Part, ...])
_CALLS: TypeAdapter[tuple[ToolCall, ...]] = TypeAdapter(tuple[ToolCall, ...])
_CONTEXT = ("tenant", "thread_id", "turn_id", "agent", "channel", "step", "attempt", "attributes", "metadata")
#: What each kind's input must have, and what it may have beside the fields of the turn.
_SHAPES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "governance": (("message",), ("user",)),
    "pre": (("message",), ("user",)),
    "post": (("message", "response"), ("user",)),
    "output": (("answer",), ("tool_calls", "finish_reason", "complete")),
    "input": (("messages",), ("system",)),
    "tool_rule": (("name",), ("arguments",)),
}


def run(given: str, source: str, config: str | None, deps: str | None, *, as_json: bool) -> int:
    """Run the processor that `given` names on the input in `source`; return the exit status that its verdict gives.

    Raises:
        CommandError: the input cannot be read, or is not what a processor of that kind sees.
        DepsError: there is no such processor.
    """
    settings = session.begin({"deps": deps})
    if ":" in given.partition("@")[0]:
        place, _, version = given.partition("@")
        settings = settings.model_copy(update={"deps": None, "processors": (place,)})
        given = version and f"@{version}"
    fields = _read(source)
    outcome, kind = asyncio.run(_run(settings, given, parsed(config), fields))
    report = outcome.reports[-1] if outcome.reports else None
    row = {
        "processor": report.processor if report is not None else None,
        "version": report.version if report is not None else None,
        "kind": kind,
        "verdict": report.verdict if report is not None else None,
        "error": report.error if report is not None else None,
        "changes": report.changes if report is not None else 0,
        "time_ms": round(report.time_ms, 3) if report is not None else None,
        **_result(outcome),
    }
    if as_json:
        output.json_line(row)
    else:
        for name, value in row.items():
            if value is not None:
                output.line(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
    return FAILED if isinstance(outcome, Refused | Broken | Blocked | Denied) or _failed(report) else OK


def _failed(report: Report | None) -> bool:
    return report is not None and report.verdict in ("failed", "skipped")


async def _run(settings: Any, given: str, config: dict[str, Any] | None, fields: dict[str, Any]) -> tuple[Outcome, str]:
    runner = runner_of(settings)
    await runner.start()
    try:
        choice = _chosen(runner.available, given, config) if not given or given.startswith("@") else None
        choice = choice or find(runner, given, config)
        chains = await runner.install(Plan((replace(choice, version=choice.code),), alone=True))
        return await _judged(chains, choice.kind, fields), choice.kind
    finally:
        await runner.stop()


def _chosen(available: tuple[str, ...], given: str, config: dict[str, Any] | None) -> Choice:
    """Return the choice of the only code there is, of that version if one is given."""
    refs = [one.partition("#")[0] for one in available]
    found = [ref for ref in refs if ref.rpartition("@")[2] == given[1:]] if given else refs
    if len(found) != 1:
        raise CommandError(f"name one processor: there are {', '.join(refs) or 'none'} in it")
    processor, _, code = found[0].rpartition("@")
    kind, _, name = processor.partition("/")
    return Choice(kind, name, code, code=code, config=None if config is None else json.dumps(config, sort_keys=True))


async def _judged(chains: ChainRunner, kind: str, fields: dict[str, Any]) -> Outcome:
    """Show the processor what `fields` say, as its kind is shown it in a turn."""
    _check(kind, fields)
    try:
        user = User.model_validate(fields["user"]) if fields.get("user") is not None else None
        context = TurnContext(**{name: fields[name] for name in _CONTEXT if name in fields}, user=user)
        match kind:
            case "output":
                calls = _CALLS.validate_python(fields.get("tool_calls", ()))
                complete = fields.get("complete", True)
                finish = fields.get("finish_reason", "stop" if complete else None)
                answer = Answer(
                    str(fields["answer"]), tool_calls=calls, finish_reason=finish, complete=complete, context=context
                )
                return await chains.run_output(answer)
            case "input":
                prompt = Prompt.model_validate({"system": fields.get("system"), "messages": fields["messages"]})
                return await chains.run_input(prompt, context)
            case "tool_rule":
                arguments = fields.get("arguments", {})
                spelt = arguments if isinstance(arguments, str) else json.dumps(arguments)
                call = ToolCall(id="call-1", name=str(fields["name"]), arguments=spelt)
                return await chains.run_tool_rules(ToolCallCheck(call, None, context))
            case "post":
                message = _message(fields)
                reply = Reply(str(fields["response"]), message, user, context.channel, context.metadata, context)
                return await chains.run_post(reply)
            case _:
                incoming = IncomingMessage(_message(fields), user, context.channel, context.metadata, context)
                return await (chains.run_governance if kind == "governance" else chains.run_pre)(incoming)
    except ValidationError as error:
        names = ", ".join(".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False))
        raise CommandError(f"--input: check {names}") from None


def _check(kind: str, fields: dict[str, Any]) -> None:
    needed, possible = _SHAPES[kind]
    missing = [name for name in needed if name not in fields]
    unknown = sorted(fields.keys() - {*needed, *possible, *_CONTEXT})
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}, which it does not see"
        raise CommandError(
            f"--input: for a processor of kind {kind} it {what}: write {', '.join(needed)}, and if you like "
            f"{', '.join((*possible, *_CONTEXT))}"
        )


def _message(fields: dict[str, Any]) -> tuple[Part, ...]:
    given = fields["message"]
    return (TextPart(text=given),) if isinstance(given, str) else _PARTS.validate_python(given)


def _result(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Approved():
            calls = [call.model_dump(mode="json") for call in outcome.tool_calls]
            return {"text": outcome.text, "tool_calls": calls or None}
        case Refused() | Denied():
            return {"reason": outcome.reason}
        case Derived():
            return {"prompt": outcome.prompt.model_dump(mode="json", exclude_none=True)}
        case Proceeded():
            return {"message": [part.model_dump(mode="json") for part in outcome.message], "metadata": outcome.metadata}
        case Blocked():
            return {"response": outcome.response, "reason": outcome.reason, "metadata": outcome.metadata}
        case Modified():
            return {"text": outcome.text}
        case _:
            return {}


def _read(source: str) -> dict[str, Any]:
    text = sys.stdin.read() if source == "-" else source
    try:
        fields = json.loads(text)
    except ValueError:
        raise CommandError("--input: this is not JSON: write an object, or - and give one on stdin") from None
    if not isinstance(fields, dict):
        raise CommandError("--input: write a JSON object")
    return fields
