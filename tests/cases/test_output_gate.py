"""Every case about the gate: the exact text, and what was out at every moment before it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from processors import Answer
from processors.outcomes import Approved
from processors.testing import gate_policy, run_gate
from streams.chains import InlineChainRunner, ProcessChainRunner
from streams.gate import entries, events
from streams.gate.entries import Persona
from streams.gate.state import Phase
from streams.gate.work import RunOutput, work_of
from tests.cases import redos
from tests.cases.case import Case, all_cases, case, cases
from tests.cases.harness import Replayed, for_run_gate, judge, model_frames, passed, replay
from tests.cases.made import output_deps
from tests.streams.gate.play import Play, frame, result
from topics import codec
from topics.content import ToolDefinition, Usage
from topics.names import RELEASED_FRAMES
from topics.records import CompletedFrame, FailedFrame, RejectedFrame, TextFrame, ToolCallDelta, UsageRecord

#: Played below, each on its own: one needs processes that can be killed, the other a turn of two steps.
APART = {redos.NAME, "entity-across-steps"}

RUNNABLE = [one for one in cases("output_gate") if one.name not in APART]

#: What the cases call an ending, and how it shows here.
OUTCOMES: dict[str, tuple[str, set[str | None]]] = {
    "completed": ("completed", {None}),
    "rejected": ("rejected", {None}),
    "processor_failed": ("failed", {"ProcessorFailedError"}),
    "upstream_failed": ("failed", {"ModelFailedError"}),
    "incomplete": ("failed", {"FrameGapError", "TurnTimeoutError"}),
}


@pytest.fixture(params=[pytest.param(one, id=one.name) for one in RUNNABLE], scope="module")
def one(request: pytest.FixtureRequest) -> Case:
    """Give each case in turn."""
    given: Case = request.param
    return given


@pytest.fixture(scope="module")
def done(one: Case) -> Replayed:
    """Give the case replayed."""
    return asyncio.run(replay(one))


def test_the_turn_ends_as_the_case_says(one: Case, done: Replayed) -> None:
    """With the ending, the error, and who it was."""
    expected = one.expected
    kind, errors = OUTCOMES[expected["outcome"]]
    assert done.play.outcome == kind
    failed = done.play.of(FailedFrame)
    assert ({frame.error for frame in failed} or {None}) <= errors
    if "error" in expected:
        assert failed[0].error == expected["error"]
    if "phase" in expected:
        assert (failed[0].phase, failed[0].processor) == (expected["phase"], expected["processor_name"])
    if "rejected_by" in expected:
        assert done.play.of(RejectedFrame)[0].processor == expected["rejected_by"]
    if "reason" in expected:
        last = done.play.records[-1].entry
        assert isinstance(last, entries.Llm | entries.OutputProcessed)
        assert last.rejected is not None
        assert last.rejected.reason == expected["reason"]


def test_the_released_text_is_the_cases(one: Case, done: Replayed) -> None:
    """Exactly, and the terminal frame repeats it where it fits."""
    final = one.expected.get("final")
    ends = done.play.of(CompletedFrame)
    if final is None:
        assert ends == []
        assert one.expected.get("released_prefix_of", done.released).startswith(done.released)
        return
    (end,) = ends
    assert done.released == final
    assert end.reply in {final, None}
    assert end.length == len(final)
    for name in ("finish_reason", "refusal"):
        if name in one.expected:
            assert getattr(end, name) == one.expected[name]


def test_no_more_is_out_than_may_be_at_any_moment(one: Case, done: Replayed) -> None:
    """After each text frame, and at the end."""
    bounds = one.expected.get("released_len_after_text_frame", [])
    outs = [*map(len, done.after_text), len(done.released)][: len(bounds)]
    assert all(out <= bound for out, bound in zip(outs, bounds, strict=True)), (outs, bounds)
    assert len(done.released) <= one.expected.get("released_at_end_at_most", len(done.released))
    if one.fields.get("expect_no_text") and one.expected["final"] is None:  # a harmless variant has text at its end
        assert done.play.of(TextFrame) == []


def test_what_must_not_show_never_shows(one: Case, done: Replayed) -> None:
    """In nothing that was out at any moment, nor elsewhere in what readers get; tool calls have a test of their own."""
    for prefix in done.prefixes:
        assert not [value for value in one.values("never_contains") if value in prefix]
        assert not [pattern for pattern in one.values("never_matches") if re.search(pattern, prefix)]
    released = [effect.record for effect in done.play.published if effect.topic is RELEASED_FRAMES]
    shown = "".join(record.model_dump_json(exclude={"tool_calls"}) for record in released)
    assert not [value for value in one.values("never_contains") if value.isprintable() and value in shown]


def test_text_is_only_ever_added(done: Replayed) -> None:
    """Each frame where the one before it ended, the terminal frame last and once."""
    place = 0
    for shown in done.play.of(TextFrame):
        assert shown.offset == place
        place += len(shown.text)
    assert [effect.terminal for effect in done.play.published].count(True) == 1
    assert done.play.published[-1].terminal
    assert not done.play.view.contradicted
    assert done.play.view.text == done.released


def test_text_flows_before_the_finish(one: Case, done: Replayed) -> None:
    """Where a case says that it should."""
    for chars in one.values("released_before_finish_at_least"):
        if one.expected["outcome"] == "completed":
            assert len(done.before_finish) >= chars


def test_run_gate_says_the_same(one: Case, done: Replayed) -> None:
    """The function that users have for their own tests."""
    if one.fields.get("no_implicit_finish"):
        return  # run_gate finishes every answer
    run = run_gate(output_deps(one), for_run_gate(one))
    assert run.releases == done.play.releases
    assert run.outcome == done.play.outcome
    assert run.error == next((frame.error for frame in done.play.of(FailedFrame) + done.play.of(RejectedFrame)), None)


# -- what single cases say in words -----------------------------------------------------------------------------------


async def test_a_missing_frame_is_named() -> None:
    """`gap-never-filled`: the wait is bounded and the error says which frame it was for.

    Judgement: the turn is `failed` with `FrameGapError`.
    """
    done = await replay(case("gap-never-filled"))
    (end,) = done.play.of(FailedFrame)
    assert (end.error, end.processor) == ("FrameGapError", None)
    assert "frame 2 " in end.message


async def test_an_abandoned_turn_fails_by_time_and_keeps_what_it_held() -> None:
    """`abandoned-turn`: judgement on the limit, which is the operator's; the ending is a timeout."""
    done = await replay(case("abandoned-turn"))
    assert done.play.of(FailedFrame)[0].error == "TurnTimeoutError"
    assert done.released == case("abandoned-turn").expected["released_prefix_of"][: len(done.released)]


async def test_the_cost_of_a_refused_whole_answer_is_recorded() -> None:
    """`mixed-chain-holds-all`: as the provider counted it, once."""
    done = await replay(case("mixed-chain-holds-all"))
    (usage,) = done.play.of(UsageRecord)
    assert usage.usage == Usage(prompt_tokens=11, completion_tokens=7)
    assert (usage.estimated, usage.outcome) == (False, "rejected")


async def test_the_cost_of_a_call_that_was_stopped_is_recorded_once() -> None:
    """`reject-once`: recorded exactly once, and estimated.

    The case expects the provider's 11 and 7. Here a refusal stops the call, so that the usage the provider would have
    sent at its end never comes, and records of one id must not differ: such usage is `estimated`.
    """
    done = await replay(case("reject-once"))
    (usage,) = done.play.of(UsageRecord)
    assert (usage.estimated, usage.outcome) == (True, "rejected")
    assert usage.usage.completion_tokens > 0


async def test_a_failed_call_is_not_a_failed_processor() -> None:
    """`upstream-error`: and what it cost so far is recorded."""
    done = await replay(case("upstream-error"))
    assert done.play.of(FailedFrame)[0].processor is None
    assert [usage.outcome for usage in done.play.of(UsageRecord)] == ["failed"]


async def test_reasoning_and_tool_arguments_are_no_text() -> None:
    """`other-channels`: judgement. Reasoning goes nowhere; tool arguments only where the step's chain has passed them.

    This chain rewrites text and lets tool calls pass unchanged, so they are on the terminal frame, where a caller that
    asked for them needs them; a control that should judge them sees them.
    """
    done = await replay(case("other-channels"))
    assert done.play.releases == ["Done."]
    (end,) = done.play.of(CompletedFrame)
    assert [call.arguments for call in end.tool_calls] == ['{"to":"bob\\u0040acme.example"}']
    assert "000-12" not in codec.encode(end).decode()


async def test_a_rejected_statement_is_named_by_its_rule() -> None:
    """`sql-gate`: judgement. Two statements in one block are one too many, whatever the second would have been.

    The reason is a rule's name; the case asks for no more than who rejected.
    """
    done = await replay(case("sql-gate"))
    last = done.play.records[-1].entry
    assert isinstance(last, entries.OutputProcessed)
    assert last.rejected is not None
    assert last.rejected.reason == "several-statements"


async def test_no_record_of_a_very_long_answer_is_larger_than_the_broker_takes() -> None:
    """`one-big-record`: judgement. One logical release, in several ordered frames, told by length and digest."""
    done = await replay(case("one-big-record"))
    limit = 1_048_576 - 1_024
    assert len(done.play.releases) > 1
    assert all(len(codec.encode(effect.record)) < limit for effect in done.play.published)
    assert all(len(record.encode()) < limit for record in done.play.records)
    (end,) = done.play.of(CompletedFrame)
    assert (end.reply, end.length) == (None, 700_000)
    assert end.sha256 is not None
    assert done.play.outcome == "completed"


# -- a pattern that never ends ----------------------------------------------------------------------------------------


@pytest.fixture
async def runner() -> AsyncIterator[ProcessChainRunner]:
    """Give a runner whose processes can be killed."""
    runner = ProcessChainRunner(f"{redos.__name__}:deps", workers=2)
    await runner.start()
    yield runner
    await runner.stop()


async def test_a_pattern_that_never_ends_fails_its_turn_and_no_other(runner: ProcessChainRunner) -> None:
    """`redos`: judgement on how. The processor's process is killed at its limit; another turn is served meanwhile."""
    play = Play(replace(gate_policy(redos.deps), max_attempts=1)).start()
    play.frames(*model_frames(case(redos.NAME)))
    work = work_of(play.turn, play.policy)
    assert isinstance(work, RunOutput)
    order: list[str] = []

    async def hang() -> None:
        play.passed(await passed(play, runner, work), final=work.final)
        order.append("hung")

    async def other() -> None:
        outcome = await runner.run_output(Answer("harmless"))
        assert isinstance(outcome, Approved)
        order.append("served")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hang())
        tasks.create_task(other())
    assert order == ["served", "hung"]
    (end,) = play.of(FailedFrame)
    expected = case(redos.NAME).expected
    assert (end.error, end.phase, end.processor) == (expected["error"], expected["phase"], expected["processor_name"])
    assert play.releases == []
    assert play.phase is Phase.ENDED


@pytest.mark.parametrize("carry", [False, True], ids=["by-itself", "carried"])
async def test_each_step_is_gated_by_itself_unless_the_operator_wants_them_judged_together(carry: bool) -> None:
    """`entity-across-steps`: judgement. By default the halves go out, as documented; `carry_across_steps` hides them."""
    one = case("entity-across-steps")
    deps = output_deps(one)
    runner = InlineChainRunner(deps)
    await runner.start()
    persona = Persona(tools=(ToolDefinition(name="look_up"),), max_steps=2)
    play = Play(replace(gate_policy(deps), carry=carry, default_persona=persona)).start()
    by_step: list[str] = []
    for said in one.frames:
        fields = dict(said) if isinstance(said, dict) else {}
        step, seq = fields["step"], play.turn.answer.next_seq
        match fields.get("type", "text"):
            case "text":
                play.frames(frame(seq, fields["text"], step=step))
            case "tool_call_delta":
                delta = ToolCallDelta(index=0, id="c1", name="look_up", arguments=fields["arguments"])
                play.frames(frame(seq, step=step, tool_call_delta=delta))
            case _:
                play.frames(frame(seq, step=step, finish_reason=fields["reason"]))
        await judge(play, runner)
        if play.phase is Phase.TOOLS:
            by_step.append(play.turn.step_text)
            play.happen(events.ToolsAnswered((result("c1", step=step),)))
    by_step.append(play.turn.step_text)
    await runner.stop()
    assert play.of(CompletedFrame)[0].reply == "".join(by_step)
    if carry:
        assert by_step == ["", "Looking up [SSN] is confirmed."]
        assert "000-12-" not in "".join(play.releases)
    else:
        assert by_step == one.expected["final_by_step"]


def test_every_case_is_looked_at() -> None:
    """None of the file's is forgotten, and what is played apart is in it."""
    names = [one.name for one in all_cases()]
    assert len([name for name in names if "/" not in name]) == 32
    assert set(names) >= APART
    assert {one.fields["layer"] for one in all_cases()} == {
        "output_gate",
        "wire",
        "stream",
        "input_processor",
        "pre",
        "post",
    }
