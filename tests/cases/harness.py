"""A case's answer sent through the gate, and what a reader saw at every moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from processors import TurnContext
from processors.outcomes import OutputOutcome
from processors.testing import gate_policy
from streams.chains import ChainRunner, InlineChainRunner
from streams.gate import events
from streams.gate.policy import Policy
from streams.gate.work import RunOutput, work_of
from streams.judging import judge as judged
from streams.judging import subject
from tests.cases.case import Case
from tests.cases.made import output_deps
from tests.streams.gate.play import START, Play, frame
from topics.content import Usage
from topics.records import ModelError, ModelFrame, ToolCallDelta


@dataclass
class Replayed:
    """`play` is the turn afterwards; `after_text` the released texts after each text frame; `held` before the finish."""

    play: Play
    after_text: list[str] = field(default_factory=list)
    before_finish: str = ""

    @property
    def released(self) -> str:
        """All that was released."""
        return "".join(self.play.releases)

    @property
    def prefixes(self) -> list[str]:
        """What was out after each release."""
        texts = self.play.releases
        return ["".join(texts[: i + 1]) for i in range(len(texts))]


async def replay(case: Case) -> Replayed:
    """Send a case's frames through its chain, one pass per frame, and let time pass at the end."""
    deps = output_deps(case)
    runner = InlineChainRunner(deps)
    await runner.start()
    # One attempt: the cases tell of one answer.
    result = Replayed(Play(replace(gate_policy(deps), max_attempts=1)).start())
    for one in model_frames(case):
        if one.finish_reason is not None:
            result.before_finish = result.released
        result.play.frames(one)
        await judge(result.play, runner)
        if one.text is not None:
            result.after_text.append(result.released)
    await runner.stop()
    result.play.happen(events.Tick(), START + 9_999)
    return result


async def judge(play: Play, runner: ChainRunner) -> None:
    """Run the pass that the turn waits for, if it waits for one."""
    work = work_of(play.turn, play.policy)
    if isinstance(work, RunOutput):
        outcome = await passed(play, runner, work)
        play.passed(outcome, upto=work.upto, final=work.final)


async def passed(play: Play, runner: ChainRunner, work: RunOutput) -> OutputOutcome:
    """Return what the chain says about the turn's answer so far."""
    return await judged(runner, subject(play.turn, work, TurnContext()))


def model_frames(case: Case) -> list[ModelFrame]:
    """Return a case's frames as a model runner would write them: usage on the finish frame, wherever it came."""
    usage: Usage | None = None
    made: list[dict[str, Any]] = []
    for one in case.frames:
        spelt: dict[str, Any] = {"type": "text", "text": one} if isinstance(one, str) else {"type": "text", **one}
        if spelt["type"] == "usage":
            usage = Usage(prompt_tokens=spelt["prompt_tokens"], completion_tokens=spelt["completion_tokens"])
        else:
            made.append({"seq": spelt.get("seq", len(made)), **_fields(spelt)})
    if not any({"finish_reason", "error"} & set(fields) for fields in made) and not case.fields.get(
        "no_implicit_finish"
    ):
        made.append({"seq": len(made), "finish_reason": "stop"})
    return [frame(fields.pop("seq"), **fields, usage=usage if "finish_reason" in fields else None) for fields in made]


def _fields(spelt: dict[str, Any]) -> dict[str, Any]:
    match spelt["type"]:
        case "text" | "reasoning" | "refusal" as name:
            return {name: spelt["text"]}
        case "finish":
            return {"finish_reason": spelt["reason"]}
        case "tool_call_delta":
            return {"tool_call_delta": ToolCallDelta(index=spelt["index"], arguments=spelt["arguments"])}
        case "error":
            return {"error": ModelError(message=spelt["message"])}
        case "ping" | "annotation":
            return {}
        case other:
            raise ValueError(f"a case has a frame of type {other}")


def for_run_gate(case: Case) -> list[dict[str, Any]]:
    """Return the same frames in the shape that `run_gate` takes."""
    ids = {"v", "tenant", "thread_id", "turn_id", "step", "attempt"}
    return [one.model_dump(exclude_none=True, exclude=ids) for one in model_frames(case)]


def policy_of(case: Case) -> Policy:
    """Return the policy that a case's chain has."""
    return gate_policy(output_deps(case))
