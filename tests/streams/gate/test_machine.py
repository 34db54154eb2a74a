"""The turn machine: every transition, and everything that must not be one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.outcomes import (
    Allowed,
    Approved,
    Blocked,
    Broken,
    Denied,
    Derived,
    Modified,
    OutputOutcome,
    Proceeded,
    Refused,
)
from streams.gate import entries, events, machine
from streams.gate.policy import Policy
from streams.gate.records import JournalRecord
from streams.gate.state import Phase
from streams.gate.work import RunInput, RunOutput, RunPre, Work, work_of
from tests.streams.gate.play import (
    START,
    Judge,
    Play,
    answer_in,
    frame,
    mapped,
    read,
    refusing,
    report,
    request,
    result,
)
from topics.content import Message, Prompt, TextPart, ToolCall, ToolDefinition
from topics.names import RELEASED_FRAMES
from topics.records import CompletedFrame, FailedFrame, ModelError, ModelFrame, ToolCallDelta

LIVE = Policy()
WHOLE = Policy(mode="whole")
INCREMENTAL = Policy(mode="incremental", window=4)
LOOK_UP = ToolCallDelta(index=0, id="c1", name="look_up", arguments="{}")
LOOKED_UP = ToolCall(id="c1", name="look_up", arguments="{}")
AGENT = entries.Persona(tools=(ToolDefinition(name="look_up"),), timeouts={"look_up": 20.0}, max_steps=4)
EVERYTHING = Policy(
    mode="incremental",
    window=4,
    has_governance=True,
    has_pre=True,
    has_input=True,
    has_rules=True,
    has_post=True,
    default_persona=AGENT,
)
BUSY_S = 3.0
BUSY = ModelError(type="RateLimitError", retryable=True, retry_after_s=BUSY_S)
SAME = mapped(str)
DROPPED = ModelError(type="APIConnectionError", retryable=True)
TEN = "0123456789"


def failure(play: Play) -> tuple[str, str | None, str | None]:
    """Return error, phase and processor of the turn's failure."""
    (end,) = play.of(FailedFrame)
    return (end.error, end.phase, end.processor)


# -- the drawing ------------------------------------------------------------------------------------------------------


def test_a_turn_with_every_chain_goes_through_every_phase() -> None:
    """One journal record per checkpoint."""
    play = Play(EVERYTHING)
    phases = [play.phase]
    prompt = Prompt(messages=(Message(role="user", content="hi"),))
    happening: tuple[events.Event, ...] = (
        events.Start(),
        events.GovernanceDone(Proceeded((TextPart(text="hi"),))),
        events.PreDone(Proceeded((TextPart(text="hi"),))),
        events.InputDone(0, Derived(prompt)),
        events.Frames((frame(None, error=BUSY),)),
        events.Tick(),
        events.Frames((frame(0, "look", attempt=1, finish_reason="tool_calls", tool_call_delta=LOOK_UP),)),
        events.PassDone(0, 1, 4, final=True, outcome=Approved("look", (LOOKED_UP,))),
        events.RulesDone(0, (Allowed(),)),
        events.ToolsAnswered((result("c1", attempt=1),)),
        events.InputDone(1, Derived(prompt)),
        events.Frames((frame(0, "answer", step=1, finish_reason="stop"),)),
        events.PassDone(1, 0, 6, final=True, outcome=Approved("answer")),
        events.PostDone(Modified("the answer")),
        events.Published(n=14, offset=40),
    )
    for seconds, event in enumerate(happening):
        play.happen(event, START + seconds * BUSY_S)
        phases.append(play.phase)
    assert list(dict.fromkeys(phases)) == list(Phase)
    assert play.checkpoints == [
        "accepted",
        "started",
        "process:governance",
        "process:pre",
        "process:input:0",
        "llm:0",
        "retry:0",
        "llm:0",
        "process:output:0",
        "process:tools:0",
        "tools:0",
        "process:input:1",
        "llm:1",
        "process:output:1",
        "process:post",
        "closed",
    ]
    assert play.turn.closed_at == (3, 40)
    assert (play.turn.text, play.turn.reply) == ("lookanswer", "the answer")


def test_phases_without_a_chain_are_passed_over() -> None:
    """And leave no record."""
    play = Play().start().text("answer").finish()
    assert play.checkpoints == ["accepted", "started", "llm:0", "llm:0"]
    assert play.phase is Phase.ENDED
    assert Play(Policy(has_pre=True)).start().phase is Phase.PRE
    assert Play(Policy(has_input=True)).start().phase is Phase.INPUT


def test_a_turn_keeps_to_the_chains_it_started_with() -> None:
    """An input chain that is declared in between is for later turns."""
    play = Play(Policy(has_pre=True)).start()
    play.policy = Policy(has_pre=True, has_input=True)
    play.happen(events.PreDone(Proceeded((TextPart(text="hi"),))))
    assert play.phase is Phase.MODEL


def test_the_journal_names_the_controls_that_were_active() -> None:
    """In their order, with their versions."""
    assert Play(Policy(chain=("redact@1", "guard@2"))).start().turn.started.chain == ("redact@1", "guard@2")


@pytest.mark.parametrize(
    ("phase", "named"),
    [
        (Phase.QUEUED, None),
        (Phase.GOVERNANCE, "governance"),
        (Phase.PRE, "pre"),
        (Phase.INPUT, "input"),
        (Phase.MODEL, "model"),
        (Phase.WAITING, "model"),
        (Phase.SETTLING, "output"),
        (Phase.RULES, "governance"),
        (Phase.TOOLS, "tools"),
        (Phase.POST, "post"),
    ],
)
def test_an_open_turn_can_be_ended_from_every_phase(phase: Phase, named: str | None) -> None:
    """By its caller, by the clock, and by a record that could not be taken."""
    cancelled, late, refused = (in_phase(phase) for _ in range(3))
    cancelled.happen(events.Cancel())
    late.happen(events.Tick(), late.turn.deadline_at)
    refused.happen(events.Refuse("InvalidRequestError", "the thread is busy"))
    assert (cancelled.phase, cancelled.turn.outcome, cancelled.outcome) == (Phase.ENDED, "cancelled", "cancelled")
    assert (late.phase, failure(late)) == (Phase.ENDED, ("TurnTimeoutError", named, None))
    assert (refused.phase, failure(refused)) == (Phase.ENDED, ("InvalidRequestError", None, None))


def in_phase(phase: Phase) -> Play:
    """Return a turn that has come so far, with chains of every kind."""
    play = Play(EVERYTHING)
    ways: dict[Phase, list[Callable[[], object]]] = {
        Phase.WAITING: [lambda: play.frames(frame(None, error=BUSY))],
        Phase.RULES: [
            lambda: play.frames(frame(0, "some words of an answer", finish_reason="stop", tool_call_delta=LOOK_UP)),
            lambda: play.passed(Approved("some words of an answer", (LOOKED_UP,)), final=True),
        ],
    }
    ways[Phase.TOOLS] = [*ways[Phase.RULES], lambda: play.happen(events.RulesDone(0, (Allowed(),)))]
    plain: list[Callable[[], object]] = [
        lambda: play.text("some words of an answer").finish(),
        lambda: play.passed(Approved("some words of an answer"), final=True),
        lambda: play.happen(events.PostDone(Modified("some words of an answer"))),
        lambda: play.happen(events.Published(play.turn.n - 1, 40)),
    ]
    steps: list[Callable[[], object]] = [
        play.start,
        lambda: play.happen(events.GovernanceDone(Proceeded((TextPart(text="hi"),)))),
        lambda: play.happen(events.PreDone(Proceeded((TextPart(text="hi"),)))),
        lambda: play.happen(events.InputDone(0, Derived(Prompt()))),
        *ways.get(phase, plain),
    ]
    for step in steps:
        if play.phase is phase:
            break
        step()
    assert play.phase is phase
    return play


#: Every kind of event, and the phases in which it means something.
MEANING: list[tuple[events.Event, set[Phase]]] = [
    (events.Start(), {Phase.QUEUED}),
    (events.GovernanceDone(Proceeded((TextPart(text="x"),))), {Phase.GOVERNANCE}),
    (events.GovernanceDone(Broken("rule", "KeyError")), {Phase.GOVERNANCE}),
    (events.RulesDone(0, (Allowed(),)), {Phase.RULES}),
    (events.RulesDone(0, (Denied("rule", "no"),)), {Phase.RULES}),
    (events.RulesDone(1, (Allowed(),)), set()),
    (events.ToolsAnswered((result("c1"),)), {Phase.TOOLS}),
    (events.ToolsAnswered((result("c2"),)), set()),
    (events.ToolsAnswered((result("c1", step=1),)), set()),
    (events.PostDone(Modified("x")), {Phase.POST}),
    (events.PostDone(Broken("footer", "KeyError")), {Phase.POST}),
    (events.PreDone(Proceeded((TextPart(text="x"),))), {Phase.PRE}),
    (events.PreDone(Blocked("hours")), {Phase.PRE}),
    (events.PreDone(Broken("hours", "KeyError")), {Phase.PRE}),
    (events.InputDone(0, Derived(Prompt())), {Phase.INPUT}),
    (events.InputDone(0, Broken("mask", "KeyError")), {Phase.INPUT}),
    (events.InputDone(1, Derived(Prompt())), set()),
    (events.Frames((frame(0, "x"),)), {Phase.MODEL}),
    (events.Frames((frame(0, "x", attempt=1),)), set()),
    (events.Frames((frame(0, "x", step=1),)), set()),
    (events.Frames((frame(None),)), {Phase.MODEL}),
    (events.Frames(()), set()),
    (events.PassDone(0, 0, 23, final=True, outcome=Approved("some words of an answer")), {Phase.SETTLING}),
    (events.PassDone(0, 0, 23, final=True, outcome=Refused("guard", "policy")), {Phase.SETTLING}),
    (events.PassDone(0, 0, 23, final=True, outcome=Broken("guard", "KeyError")), {Phase.SETTLING}),
    (events.PassDone(0, 0, 4, final=False, outcome=Approved("some words")), {Phase.MODEL}),
    (events.PassDone(0, 0, 4, final=False, outcome=Refused("guard", "policy")), {Phase.MODEL}),
    (events.PassDone(0, 0, 4, final=False, outcome=Broken("guard", "KeyError")), set()),
    (events.PassDone(0, 1, 4, final=False, outcome=Refused("guard", "policy")), set()),
    (events.PassDone(1, 0, 4, final=True, outcome=Refused("guard", "policy")), set()),
    (events.Published(n=99, offset=40), {Phase.ENDED}),
    (events.Published(n=99), set()),
    (events.Published(n=0, offset=40), set()),
    (events.Cancel(), set(Phase) - {Phase.ENDED, Phase.CLOSED}),
    (events.Refuse("InvalidRequestError", "no"), set(Phase) - {Phase.ENDED, Phase.CLOSED}),
    (events.Tick(), set()),
]


@pytest.mark.parametrize("phase", Phase)
def test_an_event_that_does_not_fit_the_phase_changes_nothing(phase: Phase) -> None:
    """What comes late, early or twice is no transition, and nothing is published because of it."""
    for event, phases in MEANING:
        play = in_phase(phase)
        before, published = play.turn, len(play.published)
        made = play.happen(event)
        assert bool(made) == (phase in phases), event
        if not made:
            assert play.turn == before
            assert len(play.published) == published


def test_deciding_changes_nothing() -> None:
    """The same question gets the same answer."""
    play = Play().start().text("one ")
    event = events.Frames((frame(1, "two"), frame(3, "four")))
    first = machine.decide(play.turn, event, START, play.policy)
    assert machine.decide(play.turn, event, START, play.policy) == first
    assert str(play.turn.buffer) == "one "


def test_a_request_that_could_not_be_read_never_runs() -> None:
    """Even if the worker died before it could refuse it."""
    accepted = machine.accept(request(), partition=0, order=0, now=START, policy=LIVE, readable=False)
    turn = machine.begin(JournalRecord(0, START, -1, accepted))
    (entry,) = machine.decide(turn, events.Start(), START, LIVE)
    assert isinstance(entry, entries.Failed)
    assert entry.error == "InvalidRequestError"


def test_a_journal_is_folded_in_order_and_without_gaps() -> None:
    """Anything else is a fault of whoever reads it."""
    play = Play().start()
    started = play.records[1]
    for n in (0, 1, 3):
        with pytest.raises(ValueError, match=f"journal record {n} where 2 is next"):
            machine.evolve(play.turn, started._replace(n=n))
    with pytest.raises(ValueError, match="accepted once"):
        machine.evolve(play.turn, play.records[0]._replace(n=2))
    with pytest.raises(ValueError, match="begins with an accepted record, not started"):
        machine.begin(started)


def test_the_journal_tells_how_far_publishing_had_come() -> None:
    """The highest number wins: what was once confirmed stays so."""
    play = Play().start()
    turn = machine.evolve(play.turn, JournalRecord(2, START, 1, entries.Llm(seq=1, text="a", live=1)))
    turn = machine.evolve(turn, JournalRecord(3, START, 0, entries.Llm(seq=2, text="b", live=2)))
    assert turn.confirmed == 1


def test_a_turn_closes_only_when_its_terminal_frame_is_confirmed() -> None:
    """Not when the text before it is."""
    play = Play().start().text("a").finish()
    terminal = play.turn.n - 1
    assert play.happen(events.Published(terminal - 1, 39)) == []
    assert play.happen(events.Published(terminal)) == []
    assert play.happen(events.Published(terminal, 40)) == [entries.Closed(outcome="completed", partition=3, offset=40)]
    assert play.happen(events.Published(terminal, 40)) == []


# -- before the model -------------------------------------------------------------------------------------------------


def test_a_message_that_was_not_changed_is_not_journaled_again() -> None:
    """Only what the processors said about it is."""
    play = Play(Policy(has_pre=True)).start()
    (entry,) = play.happen(events.PreDone(Proceeded(play.turn.message, {"seen": True})))
    assert entry == entries.PreProcessed(metadata={"seen": True})
    assert play.turn.metadata == {"seen": True}


@pytest.mark.parametrize(
    ("channel", "response", "reply"),
    [
        ("web", "Closed.", "Closed."),
        ("web", "", "Not here."),
        ("voice", "", "Say that again?"),
    ],
)
def test_a_block_without_words_gets_its_channels(channel: str, response: str, reply: str) -> None:
    """Or the common ones."""
    policy = Policy(has_pre=True, default_reply="Not here.", channel_defaults={"voice": "Say that again?"})
    play = Play(policy, channel=channel).start()
    play.happen(events.PreDone(Blocked("hours", response)))
    assert play.view.reply == reply
    assert play.turn.outcome == "blocked"


@pytest.mark.parametrize("phase", ["pre", "input"])
def test_a_prompt_too_long_for_a_record_fails_the_turn(phase: str) -> None:
    """Counted in bytes, as the broker does, and with the tools that go with it."""
    policy = Policy(has_pre=phase == "pre", has_input=phase == "input", max_prompt_bytes=1_000)
    for text, tools, fits in (
        ("x" * 700, None, True),
        ("x" * 1_000, None, False),
        ("\U0001f600" * 300, None, False),
        ("x" * 700, (ToolDefinition(name="t", description="d" * 300),), False),
    ):
        play = Play(policy, tools=tools).start()
        if phase == "pre":
            play.happen(events.PreDone(Proceeded((TextPart(text=text),))))
        else:
            play.happen(events.InputDone(0, Derived(Prompt(messages=(Message(role="user", content=text),)))))
        assert (play.phase is Phase.MODEL) == fits
        if not fits:
            assert failure(play) == ("InvalidRequestError", phase, None)


# -- releasing --------------------------------------------------------------------------------------------------------


def test_without_a_chain_text_goes_out_as_it_comes() -> None:
    """Up to the last safe boundary, all of it with the finish."""
    play = Play().start()
    for piece in ("one\r", "\ntwo \U0001f1e9", "\U0001f1ea", "e", "\u0301\u200d"):
        play.text(piece)
    assert play.releases == ["one", "\r\ntwo ", "\U0001f1e9\U0001f1ea", "e"]
    play.finish()
    assert play.releases[-1] == "\u0301\u200d"
    assert play.outcome == "completed"


def test_a_whole_answer_chain_holds_everything_back() -> None:
    """Until the step has ended and the chain has passed."""
    play = Play(WHOLE).start().text("one ", "two ")
    assert work_of(play.turn, WHOLE) is None
    play.text("three").finish()
    assert play.releases == []
    play.judge(mapped(str.upper))
    assert play.releases == ["ONE TWO THREE"]


def test_an_incremental_chain_holds_back_the_window_of_its_output() -> None:
    """Not of the raw text, which is shorter or longer."""
    play = Play(INCREMENTAL).start().text("12 and 34")
    play.judge(mapped(lambda text: text.replace("1", "<one>")))
    assert play.releases == ["<one>2 an"]
    play.text("!").finish()
    play.judge(mapped(lambda text: text.replace("1", "<one>")))
    assert play.releases == ["<one>2 an", "d 34!"]


def test_a_pass_covers_all_frames_that_waited() -> None:
    """And there is no work where there is no text, or where nobody would see a prefix."""
    play = Play(INCREMENTAL).start()
    assert work_of(play.turn, INCREMENTAL) is None
    play.text("one ", "two ")
    assert work_of(play.turn, INCREMENTAL) == RunOutput(0, 0, 8, final=False)
    assert work_of(Play(INCREMENTAL, delivery="final").start().text("one").turn, INCREMENTAL) is None
    play.finish()
    assert work_of(play.turn, INCREMENTAL) == RunOutput(0, 0, 8, final=True)


def test_a_prefix_pass_that_breaks_is_ignored() -> None:
    """Text stops flowing; what the whole answer comes to counts."""
    play = Play(INCREMENTAL).start().text(TEN)
    assert play.passed(Broken("fences", "ZeroDivisionError")) == []
    assert (play.phase, play.releases) == (Phase.MODEL, [])
    play.text(TEN)
    play.judge(SAME)
    play.finish()
    play.judge(SAME)
    assert play.releases == [f"{TEN}012345", "6789"]
    assert play.outcome == "completed"


def test_a_chain_that_breaks_on_the_whole_answer_fails_the_turn() -> None:
    """What was out stays, and no more comes."""
    play = Play(INCREMENTAL).start().text(TEN)
    play.judge(SAME)
    play.finish().passed(Broken("fences", "ZeroDivisionError", (report("fences", "failed"),)), final=True)
    assert failure(play) == ("ProcessorFailedError", "output", "fences")
    assert play.releases == ["012345"]


def test_a_prefix_pass_that_takes_back_released_text_releases_nothing() -> None:
    """And nothing is lost if later ones agree again."""
    play = Play(INCREMENTAL).start().text(TEN)
    play.judge(SAME)
    play.text(TEN)
    assert play.passed(Approved(f"[checking] {TEN}{TEN}")) == []
    play.text(TEN)
    play.judge(SAME)
    play.finish()
    play.judge(SAME)
    assert "".join(play.releases) == TEN * 3
    assert play.outcome == "completed"


def test_a_result_that_comes_late_releases_nothing_again() -> None:
    """Passes may overtake each other."""
    play = Play(INCREMENTAL).start().text(TEN, TEN)
    play.judge(SAME)
    assert play.passed(Approved(TEN), upto=10) == []
    assert play.releases == [f"{TEN}012345"]


def test_a_refusal_of_a_prefix_ends_the_turn_at_once() -> None:
    """Whatever the model still writes."""
    play = Play(INCREMENTAL).start().text("a long and friendly opening, ", "then forb")
    play.judge(refusing("forbidden"))
    out = play.releases
    play.text("idden stuff")
    play.judge(refusing("forbidden"))
    assert (play.phase, play.turn.outcome, play.outcome) == (Phase.ENDED, "rejected", "rejected")
    last = play.records[-1].entry
    assert isinstance(last, entries.Llm)
    assert last.rejected == entries.Rejection(processor="guard", reason="policy")
    play.text(" more")
    play.finish()
    assert play.releases == out
    assert not any("forb" in text for text in out)


def test_a_late_refusal_still_ends_the_turn() -> None:
    """Although every prefix was fine."""
    play = Play(INCREMENTAL).start().text(TEN)
    play.judge(SAME)
    play.finish()
    play.passed(Refused("guard", "policy"), final=True)
    assert (play.outcome, play.releases) == ("rejected", ["012345"])


@pytest.mark.parametrize("settled", ["", "01234", "X123456789", "01234X6789", "something else"])
def test_a_settled_answer_that_takes_back_released_text_fails_the_turn(settled: str) -> None:
    """The member that changed it last is named, and nothing more goes out."""
    play = Play(INCREMENTAL).start().text(TEN)
    play.judge(SAME)
    play.finish()
    reports = (report("redact", "replace"), report("guard"))
    play.passed(Approved(settled, reports=reports), final=True)
    assert failure(play) == ("ProcessorFailedError", "output", "redact")
    assert play.releases == ["012345"]
    assert play.of(CompletedFrame) == []


def test_who_contradicted_is_the_last_one_asked_if_nobody_says_so() -> None:
    """A chain may have changed its mind without changing the text."""
    play = Play(INCREMENTAL).start().text(TEN)
    play.judge(SAME)
    play.finish().passed(Approved("other", reports=(report("a"), report("b"))), final=True)
    assert failure(play)[2] == "b"


def test_frames_that_carry_no_text_release_nothing_that_is_held() -> None:
    """Tool calls, reasoning, refusals and signs of life in the middle of something."""
    play = Play(INCREMENTAL).start().text("The number 000-")
    hide = mapped(lambda text: text.replace("000-12", "[gone]"))
    play.judge(hide)
    out = play.releases
    for extra in ({"reasoning": "hm"}, {"refusal": "no"}, {}, {"tool_call_delta": ToolCallDelta(arguments="{}")}):
        play.frames(frame(play.turn.answer.next_seq, **extra))
        play.judge(hide)
    assert play.releases == out == ["The number "]
    play.text("12 is known").finish()
    play.judge(hide)
    assert play.view.text == "The number [gone] is known"


def test_text_and_finish_may_share_a_frame() -> None:
    """In every mode."""
    for policy in (LIVE, WHOLE, INCREMENTAL):
        play = Play(policy).start()
        play.frames(frame(0, "all at once", finish_reason="stop"))
        play.judge(SAME)
        assert (play.view.text, play.outcome) == ("all at once", "completed")


def test_an_answer_without_text_is_settled_too() -> None:
    """Its tool calls are judged."""
    play = Play(INCREMENTAL).start()
    play.frames(frame(0, tool_call_delta=ToolCallDelta(id="c1", name="lookup"), finish_reason="tool_calls"))
    assert work_of(play.turn, INCREMENTAL) == RunOutput(0, 0, 0, final=True)
    play.passed(Approved("", tool_calls=(ToolCall(id="c1", name="allowed"),)), final=True)
    (end,) = play.of(CompletedFrame)
    assert (end.reply, end.tool_calls[0].name) == ("", "allowed")


# -- chains that are declared anew in mid-turn ------------------------------------------------------------------------


@pytest.mark.parametrize("window", [0, 4])
def test_a_chain_that_is_declared_in_mid_turn_must_agree_with_what_is_out(window: int) -> None:
    """Live text was released without it; only if it passes that can the turn complete."""
    for change, outcome in ((lambda text: text, "completed"), (str.upper, "failed")):
        for mode in ("whole", "incremental"):
            play = Play().start().text("some words ")
            play.policy = replace(INCREMENTAL, mode=mode, window=window)
            play.stream([frame(1, "and more"), frame(2, finish_reason="stop")], mapped(change))
            assert play.outcome == outcome
            assert play.view.text == ("some words and more" if outcome == "completed" else "some words ")


@pytest.mark.parametrize("delivery", ["stream", "final"])
def test_a_chain_that_goes_in_mid_turn_leaves_text_that_agrees_with_what_is_out(delivery: str) -> None:
    """Text that the chain had passed unchanged goes on live."""
    play = Play(INCREMENTAL, delivery=delivery).start().stream([frame(0, TEN)], SAME)
    play.policy = LIVE
    play.text("\u00e9\r", "\n!\r").finish()
    assert play.outcome == "completed"
    assert play.view.text == f"{TEN}\u00e9\r\n!\r"
    if delivery == "stream":
        assert play.releases == ["012345", "6789\u00e9\r\n!", "\r"]


def test_a_chain_that_goes_in_mid_turn_while_it_had_changed_the_text_fails_it() -> None:
    """Its readers have something else than the model wrote, so no more can follow."""
    play = Play(INCREMENTAL).start().stream([frame(0, "my number is 000-12-3456, ok?")], mapped(lambda t: t[3:]))
    out = play.releases
    assert out != []
    play.policy = LIVE
    play.text(" more").finish()
    assert play.releases == out
    assert play.phase is Phase.SETTLING
    play.judge(SAME)
    assert failure(play) == ("ProcessorFailedError", "output", None)
    assert play.releases == out


def test_a_chain_that_goes_after_it_had_added_text_fails_the_turn() -> None:
    """Readers have more than there will be."""
    play = Play(INCREMENTAL).start().stream([frame(0, "yes")], mapped(lambda text: f"{text}, and more"))
    assert play.releases == ["yes, and "]
    play.policy = LIVE
    play.finish()
    play.judge(SAME)
    assert failure(play) == ("ProcessorFailedError", "output", None)


def test_what_a_vanished_chain_had_held_is_cut_into_records_too() -> None:
    """A long text that was held goes out in pieces, each in a record of its own."""
    policy = replace(INCREMENTAL, window=2_000, max_record_bytes=500)
    play = Play(policy).start().stream([frame(0, "a" * 2_010), frame(1, "b" * 100)], SAME)
    assert "".join(play.releases) == "a" * 110
    play.policy = replace(policy, mode="live")
    before = len(play.records)
    play.text("c" * 400)
    play.finish()
    assert play.view.text == "a" * 2_010 + "b" * 100 + "c" * 400
    assert play.outcome == "completed"
    assert all(len(record.encode()) < 900 for record in play.records[before:])


@given(
    st.lists(st.sampled_from(["live", "whole", "incremental"]), min_size=8, max_size=8),
    st.lists(st.sampled_from(["a", "bc", "\r", "\n", "e\u0301", "x1", ""]), min_size=8, max_size=8),
    st.sampled_from([mapped(str), mapped(lambda text: text.replace("1", "[one]")), refusing("x1"), mapped(str.upper)]),
    st.integers(0, 4),
)
def test_however_chains_come_and_go_released_text_is_never_contradicted(
    modes: list[str], texts: list[str], chain: Judge, window: int
) -> None:
    """The turn completes with a text that starts with all that was out, or it visibly fails."""
    play = Play(replace(INCREMENTAL, window=window)).start()
    for mode, one in zip(modes, answer_in(texts[:7]), strict=True):
        play.policy = replace(play.policy, mode=mode)  # type: ignore[arg-type] # a mode
        active = SAME if mode == "live" else chain
        play.frames(one)
        play.judge(active)
    play.judge(SAME if play.policy.mode == "live" else chain)
    assert play.outcome is not None
    assert not play.view.contradicted
    if play.outcome == "completed":
        assert play.of(CompletedFrame)[0].reply == "".join(play.releases)


# -- attempts ---------------------------------------------------------------------------------------------------------


def test_a_call_that_died_is_tried_again_from_the_beginning() -> None:
    """With the prompt that is journaled, and nothing kept of the first attempt."""
    play = Play(EVERYTHING).start()
    play.happen(events.GovernanceDone(Proceeded((TextPart(text="hi"),))))
    play.happen(events.PreDone(Proceeded((TextPart(text="hi"),))))
    prompt = Prompt(system="derived")
    play.happen(events.InputDone(0, Derived(prompt)))
    play.frames(frame(0, "first attempt"), frame(2, "early"), frame(1, "\ud83c", refusal="no"))
    play.frames(frame(3, error=DROPPED))
    assert (play.phase, play.turn.attempt) == (Phase.MODEL, 1)
    assert play.turn.prompt == prompt
    assert (str(play.turn.buffer), play.turn.answer.early, play.turn.answer.refusal) == ("", {}, "")
    assert (play.turn.answer.half, play.turn.answer.next_seq, play.turn.released_offset) == (None, 0, 0)


def test_frames_and_passes_of_an_earlier_attempt_are_dropped() -> None:
    """Also another report of its end."""
    play = Play(INCREMENTAL).start().text("first")
    play.frames(frame(1, error=DROPPED))
    assert play.frames(frame(1, "late"), frame(2, finish_reason="stop"), frame(None)) == []
    assert play.happen(events.PassDone(0, 0, 5, final=False, outcome=Refused("guard", "policy"))) == []
    assert play.turn.attempt == 1


def test_attempts_are_bounded() -> None:
    """The last one's failure is the turn's."""
    play = Play(Policy(max_attempts=3)).start()
    for attempt in range(3):
        play.frames(frame(0, "x", attempt=attempt), frame(1, error=DROPPED, attempt=attempt))
    assert failure(play) == ("ModelFailedError", "model", None)
    assert play.checkpoints.count("llm:0") == 6


def test_an_error_that_another_attempt_would_meet_again_is_not_retried() -> None:
    """The runner says so."""
    play = Play(Policy(max_attempts=3)).start()
    play.frames(frame(0, error=ModelError(type="BadRequestError", retryable=False)))
    assert failure(play) == ("ModelFailedError", "model", None)


def test_a_failed_attempt_of_which_text_is_out_can_fail_the_turn() -> None:
    """If the operator does not want text to be dropped; without text out it is silent."""
    policy = Policy(on_retry="fail")
    seen = Play(policy).start().text("x")
    seen.frames(frame(1, error=DROPPED))
    assert failure(seen) == ("ModelFailedError", "model", None)
    unseen = Play(replace(policy, mode="whole")).start().text("x")
    unseen.frames(frame(1, error=DROPPED))
    assert (unseen.phase, unseen.turn.attempt) == (Phase.MODEL, 1)


def test_what_an_attempt_said_before_it_died_is_journaled_with_its_end() -> None:
    """So that nothing acknowledged is lost, and the held text is not released."""
    play = Play(LIVE).start()
    made = play.frames(frame(0, "never shown"), frame(1, error=DROPPED))
    assert made == [
        entries.Llm(seq=1, text="never shown"),
        entries.Llm(failed=entries.CallFailure(error="APIConnectionError", retry=True)),
    ]
    assert play.releases == []


# -- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "allowed"), [(None, 600.0), (5.0, 5.0), (9_999.0, 600.0)])
def test_a_turn_may_take_as_long_as_its_request_and_the_operator_allow(asked: float | None, allowed: float) -> None:
    """Whichever is shorter, from its acceptance."""
    play = Play(deadline_s=asked)
    assert play.turn.deadline_at == START + allowed
    assert play.happen(events.Tick(), START + allowed - 0.1) == []
    play.happen(events.Tick(), START + allowed)
    assert failure(play) == ("TurnTimeoutError", None, None)


def test_a_model_that_says_nothing_for_too_long_ends_the_turn() -> None:
    """Every frame counts as saying something, and a repeated one does not."""
    policy = Policy(idle_timeout_s=10.0)
    play = Play(policy).start()
    play.frames(frame(0, reasoning="hm"), now=START + 9.0)
    play.frames(frame(0, reasoning="hm"), now=START + 15.0)
    assert machine.wake_at(play.turn, policy) == START + 19.0
    assert play.happen(events.Tick(), START + 18.9) == []
    play.happen(events.Tick(), START + 19.0)
    assert failure(play) == ("TurnTimeoutError", "model", None)


def test_held_text_is_not_released_by_time() -> None:
    """An abandoned turn fails with what was out."""
    play = Play(INCREMENTAL).start().text("mail bob@")
    play.judge(SAME)
    play.happen(events.Tick(), START + 9_999)
    assert play.releases == ["mail "]
    assert play.outcome == "failed"


def test_only_the_model_must_keep_talking() -> None:
    """A processor has its own limit; the deadline holds for all."""
    policy = replace(EVERYTHING, idle_timeout_s=10.0)
    play = Play(policy).start()
    assert play.happen(events.Tick(), START + 11.0) == []
    assert machine.wake_at(play.turn, policy) == START + policy.turn_timeout_s


def test_a_new_attempt_gets_its_own_time() -> None:
    """Its model has not been silent yet."""
    policy = Policy(idle_timeout_s=10.0)
    play = Play(policy).start()
    play.frames(frame(0, error=DROPPED), now=START + 9.0)
    assert machine.wake_at(play.turn, policy) == START + 19.0


def test_a_gap_that_never_fills_fails_the_turn() -> None:
    """After its limit, naming the frame; what is behind it is not released."""
    policy = Policy(gap_timeout_s=5.0)
    play = Play(policy).start()
    play.frames(frame(0, "alpha "), frame(1, "beta "))
    play.frames(frame(3, "delta", finish_reason="stop"), now=START + 1.0)
    assert play.happen(events.Tick(), START + 5.9) == []
    play.happen(events.Tick(), START + 6.0)
    assert failure(play) == ("FrameGapError", "model", None)
    assert "frame 2 " in play.of(FailedFrame)[0].message
    assert "".join(play.releases) == "alpha beta "


def test_a_gap_that_fills_is_forgotten() -> None:
    """The next one has its own time, also if it was there already."""
    policy = Policy(gap_timeout_s=5.0)
    play = Play(policy).start()
    play.frames(frame(1, "b"), now=START)
    play.frames(frame(3, "d"), now=START + 2.0)
    assert play.turn.answer.gap_since == START
    play.frames(frame(0, "a"), now=START + 4.0)
    assert play.turn.answer.gap_since == START + 4.0
    assert play.happen(events.Tick(), START + 8.9) == []
    play.frames(frame(2, "c"), now=START + 8.9)
    assert play.turn.answer.gap_since is None
    assert play.happen(events.Tick(), START + 60.0) == []


def test_a_gap_does_not_get_more_time_by_frames_behind_it() -> None:
    """Nor by repeated ones before it."""
    play = Play(Policy(gap_timeout_s=5.0)).start()
    play.frames(frame(1, "b"), now=START)
    for seq in range(2, 6):
        play.frames(frame(seq, "x"), now=START + seq)
    assert play.turn.answer.gap_since == START
    assert play.happen(events.Tick(), START + 5.0) != []


def test_too_many_early_frames_are_a_gap() -> None:
    """Waiting for one frame must not take all memory."""
    play = Play(Policy(max_early_frames=3)).start()
    play.frames(*(frame(seq, "x") for seq in (1, 2, 3)))
    assert play.phase is Phase.MODEL
    play.frames(frame(4, "x"))
    assert failure(play) == ("FrameGapError", "model", None)


@pytest.mark.parametrize("phase", [Phase.ENDED, Phase.CLOSED])
def test_time_does_not_matter_once_it_is_over(phase: Phase) -> None:
    """The outcome stands."""
    assert in_phase(phase).happen(events.Tick(), START + 99_999) == []


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [LIVE, WHOLE, INCREMENTAL], ids=["live", "whole", "incremental"])
def test_an_answer_that_is_too_long_fails_the_turn(policy: Policy) -> None:
    """At the frame that goes over; nothing of that is released."""
    play = Play(replace(policy, max_answer_chars=15)).start().stream([frame(0, TEN), frame(1, "01234")], SAME)
    out = play.releases
    assert play.phase is Phase.MODEL
    play.frames(frame(2, "5", finish_reason="stop"))
    assert failure(play) == ("AnswerTooLargeError", "model", None)
    assert play.releases == out


def test_a_settled_answer_that_is_too_long_fails_the_turn() -> None:
    """A processor can blow a text up."""
    play = Play(replace(WHOLE, max_answer_chars=15)).start().text(TEN).finish()
    play.judge(mapped(lambda text: text * 2))
    assert failure(play) == ("AnswerTooLargeError", "output", None)
    assert play.releases == []


CALLS_LIMIT = 1_000


@pytest.mark.parametrize(
    "deltas",
    [
        [ToolCallDelta(arguments="x" * 600), ToolCallDelta(arguments="x" * 600)],
        [ToolCallDelta(name="n" * 600), ToolCallDelta(index=1, id="i" * 600)],
        [ToolCallDelta(arguments="\x00" * 200)],
        [ToolCallDelta(index=index) for index in range(40)],
    ],
    ids=["arguments", "names", "escapes", "many empty ones"],
)
def test_tool_calls_that_are_too_long_fail_the_turn(deltas: list[ToolCallDelta]) -> None:
    """They have to fit into the terminal frame, whatever makes them long."""
    policy = replace(WHOLE, max_tool_call_bytes=CALLS_LIMIT)
    play = Play(policy).start()
    for seq, delta in enumerate(deltas):
        play.frames(frame(seq, tool_call_delta=delta))
    assert failure(play) == ("AnswerTooLargeError", "model", None)


def test_processed_tool_calls_that_are_too_long_fail_the_turn() -> None:
    """The same limit holds for what the chain makes of them."""
    play = Play(replace(WHOLE, max_tool_call_bytes=CALLS_LIMIT)).start().text("x").finish()
    play.passed(Approved("x", tool_calls=(ToolCall(id="1", name="n", arguments="x" * 1_000),)), final=True)
    assert failure(play) == ("AnswerTooLargeError", "output", None)


def test_tool_calls_within_their_limit_pass() -> None:
    """To the terminal frame."""
    play = Play(replace(WHOLE, max_tool_call_bytes=CALLS_LIMIT)).start()
    play.frames(frame(0, tool_call_delta=ToolCallDelta(id="1", arguments="x" * 900), finish_reason="tool_calls"))
    call = play.turn.answer.tool_calls[0]
    play.passed(Approved("", tool_calls=(call,)), final=True)
    assert play.of(CompletedFrame)[0].tool_calls == (call,)


def test_a_refusal_that_is_too_long_fails_the_turn() -> None:
    """It rides the terminal frame too."""
    play = Play(Policy(max_refusal_bytes=100)).start()
    play.frames(frame(0, refusal="x" * 60))
    assert play.phase is Phase.MODEL
    play.frames(frame(1, refusal="x" * 60))
    assert failure(play) == ("AnswerTooLargeError", "model", None)


def test_a_long_settled_answer_is_several_records() -> None:
    """None of which is larger than a record may be; the verdict is in the last."""
    play = Play(replace(WHOLE, max_record_bytes=300)).start()
    play.frames(*answer_in(["word " * 40] * 10))
    calls = (ToolCall(id="1", name="n"),)
    made = play.passed(Approved("word " * 400, calls, (report("guard"),)), final=True)
    outputs = [entry for entry in made if isinstance(entry, entries.OutputProcessed)]
    assert len(outputs) == len(made) > 1
    assert [entry.final for entry in outputs] == [False] * (len(made) - 1) + [True]
    assert [bool(entry.reports) for entry in outputs] == [entry.final for entry in outputs]
    assert all(len(record.encode()) < 300 + 250 for record in play.records)
    assert play.view.text == "word " * 400


# -- crashes ----------------------------------------------------------------------------------------------------------

CHAINS: dict[str, Judge] = {
    "same": SAME,
    "replaced": mapped(lambda text: text.replace("o", "[oh]")),
    "refused": refusing("seven"),
    "refused late": lambda text, complete: Refused("guard", "p") if complete and "nine" in text else Approved(text),
    "broken late": lambda text, complete: Broken("guard", "KeyError") if complete else Approved(text),
    "contradicted": lambda text, complete: Approved(text.upper() if complete else text),
    "throws at times": lambda text, _: Broken("guard", "KeyError") if text.count("`") % 2 else Approved(text),
}
POLICIES = {
    "live": LIVE,
    "whole": WHOLE,
    "incremental": INCREMENTAL,
    "small records": replace(INCREMENTAL, max_record_bytes=48, window=9),
    "whole, small records": replace(WHOLE, max_record_bytes=48),
}
WORDS = ["one ", "`two ", "three` ", "four ", "five ", "six ", "seven ", "eight ", "`nine` ", "ten\r", "\n"]


def undisturbed(policy: Policy, chain: Judge, frames: list[ModelFrame]) -> Play:
    """Return the turn as it goes when nothing goes wrong."""
    return Play(policy).start().stream(frames, chain)


def went_on(records: list[JournalRecord], policy: Policy, chain: Judge, again: list[ModelFrame]) -> Play:
    """Return the turn as the next worker leaves it that finds `records` and is sent the frames again."""
    play = Play.resumed(records, policy)
    if play.phase is Phase.QUEUED:
        play.start()
    play.judge(chain)
    return play.stream(again, chain)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_a_worker_that_dies_anywhere_changes_nothing(policy: Policy, chain: Judge) -> None:
    """Its successor has any prefix of the journal and is sent any frames again: the reader's text is the same."""
    frames = answer_in(WORDS)
    whole = undisturbed(policy, SAME if policy.mode == "live" else chain, frames)
    active = SAME if policy.mode == "live" else chain
    for kept in range(1, len(whole.records) + 1):
        taken = whole.records[:kept]
        acknowledged = max((e.entry.seq or 0 for e in taken if isinstance(e.entry, entries.Llm)), default=0)
        for start in {0, acknowledged // 2, acknowledged}:
            play = went_on(taken, policy, active, frames[start:])
            assert play.outcome == whole.outcome
            if policy.mode == "whole" or whole.outcome == "completed":
                assert play.view.text == whole.view.text
            assert_one_story(whole, play)


def assert_one_story(first: Play, second: Play) -> None:
    """Check that a reader of both workers, the first of whom died at any point, is told one thing."""
    one, two = ([e.record for e in play.published if e.topic is RELEASED_FRAMES] for play in (first, second))
    for seen in range(len(one)):
        view = read([*one[:seen], *two])
        assert view.terminal is not None
        assert not view.contradicted


def test_a_worker_that_dies_between_two_attempts_changes_nothing() -> None:
    """The first attempt's frames come again, and the second one's."""
    frames = [frame(0, "first "), frame(1, "try"), frame(2, error=DROPPED)]
    frames += [one.model_copy(update={"attempt": 1}) for one in answer_in(["second ", "try"])]
    whole = undisturbed(INCREMENTAL, SAME, frames)
    assert whole.view.text == "second try"
    for kept in range(1, len(whole.records) + 1):
        play = went_on(whole.records[:kept], INCREMENTAL, SAME, frames)
        assert (play.view.text, play.outcome) == ("second try", "completed")


def test_a_successor_with_other_processors_tells_a_consistent_story_or_fails() -> None:
    """Released text is journaled, so that a new chain is held to what the old one let out."""
    frames = answer_in(WORDS)
    first = undisturbed(INCREMENTAL, SAME, frames)
    outcomes = set()
    for kept in range(2, len(first.records) - 1):
        for chain in (mapped(str.upper), mapped(lambda text: text.replace("nine", "9"))):
            play = went_on(first.records[:kept], INCREMENTAL, chain, frames)
            outcomes.add(play.outcome)
            assert not play.view.contradicted
            assert play.view.terminal is not None
    assert outcomes == {"completed", "failed"}


@given(st.data())
def test_any_death_and_any_redelivery_ends_in_the_same_text(data: st.DataObject) -> None:
    """Frames come back in disorder, repeated, and in any batches."""
    policy = data.draw(st.sampled_from(list(POLICIES.values())))
    chain = SAME if policy.mode == "live" else mapped(lambda text: text.replace("o", "[oh]"))
    frames = answer_in(data.draw(st.lists(st.sampled_from(["o", "a\r", "\n", "e\u0301", "\ud83c", "\udf89", ""]))))
    whole = undisturbed(policy, chain, frames)
    play = Play.resumed(whole.records[: data.draw(st.integers(1, len(whole.records)))], policy)
    if play.phase is Phase.QUEUED:
        play.start()
    again = frames + data.draw(st.lists(st.sampled_from(frames), max_size=4))
    random.Random(data.draw(st.integers(0, 999))).shuffle(again)
    while again:
        size = data.draw(st.integers(1, len(again)))
        play.frames(*again[:size])
        if data.draw(st.booleans()):
            play.judge(chain)
        again = again[size:]
    play.judge(chain)
    assert (play.view.text, play.outcome) == (whole.view.text, "completed")


# -- work -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "work"),
    [
        (Phase.QUEUED, None),
        (Phase.PRE, RunPre()),
        (Phase.INPUT, RunInput(0)),
        (Phase.MODEL, None),
        (Phase.SETTLING, RunOutput(0, 0, 23, final=True)),
        (Phase.ENDED, None),
        (Phase.CLOSED, None),
    ],
)
def test_work_is_what_the_phase_waits_for(phase: Phase, work: Work | None) -> None:
    """A turn rebuilt from its journal asks for the same again."""
    play = in_phase(phase)
    assert work_of(play.turn, EVERYTHING) == work
    assert work_of(Play.resumed(play.records, EVERYTHING).turn, EVERYTHING) == work


def outcomes() -> list[Callable[[], OutputOutcome]]:
    """Return makers of every kind of outcome."""
    return [partial(Approved, "x"), partial(Refused, "guard", "p"), partial(Broken, "guard", "KeyError")]


@pytest.mark.parametrize("make", outcomes())
def test_a_prefix_result_that_comes_after_the_finish_is_ignored(make: Callable[[], OutputOutcome]) -> None:
    """The whole-answer pass is on its way and has the last word."""
    play = in_phase(Phase.SETTLING)
    assert play.passed(make(), final=False) == []
