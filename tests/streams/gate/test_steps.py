"""Turns of several steps: the calls that are made, what comes back, and the step after them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from processors.outcomes import Allowed, Approved, Broken, Denied, Derived, Proceeded
from streams.gate import events, machine
from streams.gate.entries import Persona
from streams.gate.policy import Policy
from streams.gate.state import Phase
from tests.streams.gate.play import START, Play, frame, result
from topics.content import Message, Prompt, ToolCall, ToolDefinition, Usage
from topics.records import (
    CancelCall,
    CompletedFrame,
    FailedFrame,
    PromptRequest,
    TextFrame,
    ToolCallDelta,
    ToolCallRequest,
    UsageRecord,
)

AGENT = Persona(
    system="Be kind.",
    model="m1",
    params={"temperature": 0.5},
    tools=(ToolDefinition(name="look_up"), ToolDefinition(name="write")),
    timeouts={"look_up": 20.0, "write": 5.0},
    max_steps=3,
)
LIVE = Policy(default_persona=AGENT)
WHOLE = Policy(mode="whole", default_persona=AGENT)
COST = Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)


def delta(name: str = "look_up", call_id: str | None = "c1", index: int = 0) -> ToolCallDelta:
    """Return a whole call in one piece."""
    return ToolCallDelta(index=index, id=call_id, name=name, arguments="{}")


def call(call_id: str = "c1", name: str = "look_up") -> ToolCall:
    """Return a call as it is published."""
    return ToolCall(id=call_id, name=name, arguments="{}")


def say(play: Play, *deltas: ToolCallDelta, text: str = "", finish: str = "tool_calls") -> Play:
    """Let the model say something, ask for tools, and finish."""
    step, attempt = play.turn.step, play.turn.attempt
    frames = [frame(0, text, step=step, attempt=attempt)] if text else []
    frames += [
        frame(len(frames) + number, step=step, attempt=attempt, tool_call_delta=one)
        for number, one in enumerate(deltas)
    ]
    frames.append(frame(len(frames), step=step, attempt=attempt, finish_reason=finish, usage=COST))
    play.frames(*frames)
    return play


def published(play: Play) -> list[tuple[int, str, str]]:
    """Return the tool calls that went out: step, id and name."""
    return [(one.step, one.call.id, one.call.name) for one in play.of(ToolCallRequest)]


def last_said(play: Play) -> list[tuple[str, object]]:
    """Return what the model was last told, without the user's message."""
    return [(message.role, message.content) for message in play.of(PromptRequest)[-1].prompt.messages[1:]]


def test_an_answer_that_asks_for_tools_leads_to_another_step() -> None:
    """The next prompt holds what was said, what was asked and what came back; the turn costs what its steps do."""
    play = say(Play(LIVE).start(), delta(), text="Let me see. ")
    assert (play.phase, published(play)) == (Phase.TOOLS, [(0, "c1", "look_up")])
    play.happen(events.ToolsAnswered((result("c1", "seven"),)))
    assert (play.phase, play.turn.step) == (Phase.MODEL, 1)
    prompt = play.of(PromptRequest)[-1]
    assert (prompt.step, prompt.attempt) == (1, 0)
    assert prompt.prompt.messages[1:] == (
        Message(role="assistant", content="Let me see. ", tool_calls=(call(),)),
        Message(role="tool", name="look_up", tool_call_id="c1", content="seven"),
    )
    say(play, text="Seven.", finish="stop")
    (end,) = play.of(CompletedFrame)
    assert (end.reply, end.length, end.step, end.offset, end.tool_calls) == ("Let me see. Seven.", 18, 1, 6, ())
    assert end.usage == Usage(prompt_tokens=2, completion_tokens=4, total_tokens=6)
    assert [(one.step, one.outcome) for one in play.of(UsageRecord)] == [(0, "completed"), (1, "completed")]
    assert [(one.step, one.offset, one.text) for one in play.of(TextFrame)] == [
        (0, 0, "Let me see. "),
        (1, 0, "Seven."),
    ]


def test_the_agent_says_what_it_is_and_the_caller_adds_to_it() -> None:
    """Its system text comes first, its model and parameters win, its tools are those that are offered."""
    play = Play(LIVE, system="And brief.", model="m9", params={"temperature": 1.0, "top_p": 0.1}).start()
    (prompt,) = play.of(PromptRequest)
    assert prompt.prompt.system == "Be kind.\n\nAnd brief."
    assert (prompt.model, prompt.params) == ("m1", {"temperature": 0.5, "top_p": 0.1})
    assert prompt.tools == AGENT.tools


def test_agents_are_taken_by_name_and_no_others_where_there_are_any() -> None:
    """What is pinned at the start stays, whatever is declared later."""
    policy = Policy(personas={"desk": AGENT})
    stranger = Play(policy, agent="stranger").start()
    assert [end.error for end in stranger.of(FailedFrame)] == ["InvalidRequestError"]
    assert stranger.of(PromptRequest) == []
    play = Play(policy, agent="desk").start()
    play.policy = Policy(personas={"desk": Persona(model="m2", max_steps=1)})
    say(play, delta()).happen(events.ToolsAnswered((result("c1"),)))
    assert [prompt.model for prompt in play.of(PromptRequest)] == ["m1", "m1"]


def test_calls_come_back_in_any_order_and_the_model_reads_them_in_its_own() -> None:
    """The step begins when the last is in; what nobody waits for, or came before, changes nothing."""
    play = say(Play(LIVE).start(), delta(), delta("write", "c2", 1))
    assert play.happen(events.ToolsAnswered((result("c9"), result("c1", step=1), result("c1", attempt=1)))) == []
    play.happen(events.ToolsAnswered((result("c2", "written"),)))
    assert play.phase is Phase.TOOLS
    assert play.happen(events.ToolsAnswered((result("c2", "again"),))) == []
    play.happen(events.ToolsAnswered((result("c1", "found"), result("c1", "twice"))))
    assert last_said(play)[1:] == [("tool", "found"), ("tool", "written")]


def test_a_tool_that_fails_is_told_to_the_model() -> None:
    """As an error for it to read; the turn goes on."""
    play = say(Play(LIVE).start(), delta())
    play.happen(events.ToolsAnswered((result("c1", None, error="no such account"),)))
    assert last_said(play)[1:] == [("tool", "error: no such account")]


def test_a_tool_that_does_not_exist_is_not_called() -> None:
    """The model is told; a step with no other calls goes right on."""
    play = say(Play(WHOLE).start(), delta("fly"))
    play.passed(Approved("", (call(name="fly"),)), final=True)
    assert published(play) == []
    assert (play.phase, play.turn.step) == (Phase.MODEL, 1)
    assert last_said(play)[1:] == [("tool", "error: there is no such tool")]


def test_calls_without_an_id_of_their_own_get_one() -> None:
    """Results could not be told apart otherwise."""
    play = say(Play(LIVE).start(), delta(call_id=None), delta(call_id="x", index=1), delta("write", "x", 2))
    assert published(play) == [(0, "call-0-0", "look_up"), (0, "x", "look_up"), (0, "call-0-2", "write")]
    play = say(Play(LIVE).start(), delta(call_id="y" * 201))
    assert published(play) == [(0, "call-0-0", "look_up")]
    play = say(
        Play(LIVE).start(), delta(call_id=None), delta(call_id="call-0-0", index=1), delta(call_id=None, index=2)
    )
    assert [one for _, one, _ in published(play)] == ["call-0-0x", "call-0-0", "call-0-2"]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_calls_of_an_answer_that_was_cut_off_are_not_made(finish: str) -> None:
    """Their arguments may be cut off too. The turn ends with what there is."""
    play = say(Play(LIVE).start(), delta(), text="Let me", finish=finish)
    assert published(play) == []
    (end,) = play.of(CompletedFrame)
    assert (end.finish_reason, end.tool_calls, end.reply) == (finish, (), "Let me")


def test_tools_get_what_the_chain_made_of_their_arguments() -> None:
    """And a rejected step publishes no call."""
    play = say(Play(WHOLE).start(), delta(), text="secret")
    changed = ToolCall(id="c1", name="write", arguments='{"masked":true}')
    play.passed(Approved("public", (changed,)), final=True)
    assert [one.call for one in play.of(ToolCallRequest)] == [changed]
    assert play.turn.messages[-1] == Message(role="assistant", content="public", tool_calls=(changed,))


def test_rules_see_each_call_and_those_denied_are_not_made() -> None:
    """The model is told that they are not allowed, not why."""
    play = say(Play(Policy(default_persona=AGENT, has_rules=True)).start(), delta(), delta("write", "c2", 1))
    assert (play.phase, published(play)) == (Phase.RULES, [])
    play.happen(events.RulesDone(0, (Allowed(), Denied("rule", "a private reason"))))
    assert published(play) == [(0, "c1", "look_up")]
    play.happen(events.ToolsAnswered((result("c1", "found"),)))
    assert last_said(play)[1:] == [("tool", "found"), ("tool", "error: this call is not allowed")]


def test_a_rule_that_breaks_fails_the_turn() -> None:
    """No call is made, not even those that were allowed before."""
    play = say(Play(Policy(default_persona=AGENT, has_rules=True)).start(), delta(), delta("write", "c2", 1))
    play.happen(events.RulesDone(0, (Allowed(), Broken("rule", "KeyError"))))
    (end,) = play.of(FailedFrame)
    assert (end.error, end.phase, end.processor) == ("ProcessorFailedError", "governance", "rule")
    assert published(play) == []


def test_a_tool_that_never_answers_is_given_up() -> None:
    """After its own limit and a little more; the model is told, and the turn goes on."""
    play = say(Play(LIVE).start(), delta(), delta("write", "c2", 1))
    assert [one.deadline_at for one in play.of(ToolCallRequest)] == [START + 30.0, START + 15.0]
    assert machine.wake_at(play.turn, LIVE) == START + 30.0
    assert machine.wake_at(play.turn, LIVE, START + 100.0) == START + 130.0
    play.happen(events.ToolsAnswered((result("c1", "found"),)))
    assert machine.wake_at(play.turn, LIVE) == START + 15.0
    play.happen(events.Tick(), START + 15.0)
    assert last_said(play)[1:] == [("tool", "found"), ("tool", "error: the tool did not answer in time")]


def test_a_result_beyond_the_limit_is_replaced() -> None:
    """By an error that says so."""
    play = say(Play(Policy(default_persona=AGENT, max_tool_result_bytes=100)).start(), delta())
    play.happen(events.ToolsAnswered((result("c1", "x" * 200),)))
    assert last_said(play)[1:] == [("tool", "error: the tool's answer is too large")]


def test_steps_are_bounded() -> None:
    """The last step's answer may not ask for more; what it held is not released."""
    play = Play(WHOLE).start()
    for step in range(3):
        say(play, delta(call_id=f"c{step}"), text="more ")
        play.passed(Approved("more ", (call(f"c{step}"),)), final=True)
        play.happen(events.ToolsAnswered((result(f"c{step}", step=step),)))
    (end,) = play.of(FailedFrame)
    assert (end.error, end.phase, end.step) == ("ModelFailedError", "model", 2)
    assert play.releases == ["more ", "more "]


def test_each_step_derives_its_prompt_anew() -> None:
    """From the transcript as it was said, not from what the chain made of it for the step before."""
    play = Play(Policy(default_persona=AGENT, has_input=True)).start()
    masked = Prompt(messages=(Message(role="user", content="masked"),))
    play.happen(events.InputDone(0, Derived(masked)))
    say(play, delta()).happen(events.ToolsAnswered((result("c1", "raw"),)))
    assert (play.phase, play.turn.prompt) == (Phase.INPUT, None)
    assert [message.content for message in play.turn.base_prompt().messages] == ["What is my number?", None, "raw"]
    assert len(play.of(PromptRequest)) == 1


def test_a_step_that_cannot_be_paid_for_is_not_taken() -> None:
    """The turn fails in place of the prompt; the tools' work was already done."""
    play = say(Play(LIVE).start(), delta())
    made = machine.decide(play.turn, events.ToolsAnswered((result("c1"),)), START, LIVE, afford=False)
    assert [(one.checkpoint, getattr(one, "phase", None)) for one in made] == [("failed", "governance")]


def test_a_prompt_that_has_grown_too_large_fails_the_turn() -> None:
    """Before it is published, where no input chain could have shortened it."""
    play = say(Play(Policy(default_persona=AGENT, max_prompt_bytes=1_000)).start(), delta())
    play.happen(events.ToolsAnswered((result("c1", "x" * 2_000),)))
    (end,) = play.of(FailedFrame)
    assert (end.error, end.phase) == ("InvalidRequestError", "tools")
    assert len(play.of(PromptRequest)) == 1


def test_a_first_prompt_that_is_too_large_fails_the_turn() -> None:
    """With the thread's history, or the agent's own tools, as well as by itself; no record of it reaches the broker."""
    policy = Policy(max_prompt_bytes=2_000)
    talkative = AGENT.model_copy(update={"tools": (ToolDefinition(name="look_up", description="d" * 2_000),)})
    for chosen, history, fits in (
        (policy, "short", True),
        (policy, "x" * 2_000, False),
        (replace(policy, default_persona=AGENT), "short", True),
        (replace(policy, default_persona=talkative), "short", False),
    ):
        play = Play(chosen)
        play.turn = play.turn.with_(history=(Message(role="user", content=history),))
        play.start()
        assert len(play.of(PromptRequest)) == fits
        if not fits:
            (end,) = play.of(FailedFrame)
            assert (end.error, end.phase) == ("InvalidRequestError", "input")
    play = Play(replace(policy, has_pre=True))
    play.turn = play.turn.with_(history=(Message(role="user", content="x" * 2_000),))
    play.start().happen(events.PreDone(Proceeded(play.turn.message)))
    assert [(one.error, one.phase) for one in play.of(FailedFrame)] == [("InvalidRequestError", "pre")]


def test_a_turn_that_ends_among_its_tools_calls_them_off() -> None:
    """Whoever runs them is told; the model's call is over and paid for."""
    play = say(Play(LIVE).start(), delta())
    play.happen(events.Cancel())
    assert [(one.step, one.attempt) for one in play.of(CancelCall)] == [(0, 0)]
    assert [one.outcome for one in play.of(UsageRecord)] == ["completed"]


@pytest.mark.parametrize("fields", [{"tools": (ToolDefinition(name="look_up"),)}, {"history": ()}])
def test_a_caller_that_keeps_the_conversation_runs_the_tools(fields: dict[str, Any]) -> None:
    """The call ends the turn, with the agent's system text all the same."""
    play = say(Play(LIVE, **fields).start(), delta())
    (end,) = play.of(CompletedFrame)
    assert end.tool_calls == (call(),)
    assert published(play) == []
    (prompt,) = play.of(PromptRequest)
    assert (prompt.prompt.system, prompt.tools) == ("Be kind.", fields.get("tools"))


def test_steps_judged_together_hold_back_what_the_next_may_change() -> None:
    """Whole: everything. The offsets of a step's text count from its own beginning all the same."""
    policy = Policy(mode="whole", carry=True, default_persona=AGENT)
    play = say(Play(policy).start(), delta(), text="555")
    play.passed(Approved("555", (call(),)), final=True)
    assert play.releases == []
    play.happen(events.ToolsAnswered((result("c1"),)))
    say(play, text="0123", finish="stop")
    assert str(play.turn.buffer) == "5550123"
    play.passed(Approved("[number]"), final=True)
    assert [(one.step, one.offset, one.text) for one in play.of(TextFrame)] == [(1, 0, "[number]")]
    assert play.of(CompletedFrame)[0].reply == "[number]"


def test_steps_judged_together_keep_what_is_out() -> None:
    """What the window let out of an earlier step stays its text; a retry of the later one takes nothing of it back."""
    policy = Policy(mode="incremental", window=2, carry=True, default_persona=AGENT)
    play = Play(policy).start().text("abcdef")
    play.passed(Approved("abcdef"))
    assert play.releases == ["abcd"]
    play.frames(frame(1, tool_call_delta=delta(), finish_reason="tool_calls", usage=COST))
    play.passed(Approved("abcdef", (call(),)), final=True)
    assert play.releases == ["abcd"]
    play.happen(events.ToolsAnswered((result("c1"),)))
    assert (play.turn.released_offset, str(play.turn.settled)) == (0, "abcd")
    say(play, text="ghi", finish="stop")
    play.passed(Approved("abcdefghi"), final=True)
    assert [(one.step, one.offset, one.text) for one in play.of(TextFrame)] == [(0, 0, "abcd"), (1, 0, "efghi")]
    assert play.of(CompletedFrame)[0].reply == "abcdefghi"


@pytest.mark.parametrize("delivery", ["stream", "final"])
def test_steps_judged_together_lose_nothing_when_the_chain_goes(delivery: str) -> None:
    """What an earlier step had held back for the chain goes out with the last one, as the model wrote it."""
    policy = Policy(mode="whole", carry=True, default_persona=AGENT)
    play = say(Play(policy, delivery=delivery).start(), delta(), text="one ")
    play.passed(Approved("one ", (call(),)), final=True)
    play.happen(events.ToolsAnswered((result("c1"),)))
    play.policy = LIVE
    say(play, text="two", finish="stop")
    assert play.of(CompletedFrame)[0].reply == "one two"
    assert play.view.text == "one two"
