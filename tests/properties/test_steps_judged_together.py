"""Steps that are judged together: nothing that two steps say between them leaks, however both are cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors import Answer
from processors.outcomes import Approved
from processors.patterns import Pattern
from processors.patterns.redactor import Redactor, Rule
from processors.scanner import ScannerChain
from streams.gate import events, machine
from streams.gate.entries import Persona
from streams.gate.policy import Mode, Policy
from streams.gate.records import JournalRecord
from streams.gate.scan import AnswerScan
from streams.gate.state import Phase
from streams.gate.work import RunOutput, work_of
from tests.properties.drive import random_splits
from tests.streams.gate.play import START, Play, frame, result
from topics.content import ToolDefinition
from topics.records import ModelFrame, ToolCallDelta

SSN = re.compile(r"(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)")
REDACTOR = Redactor("redact", [Rule("SSN", Pattern(SSN.pattern))])
PERSONA = Persona(tools=(ToolDefinition(name="look_up"),), max_steps=9)
WORDS = st.text(st.sampled_from("019- a"), max_size=14)


class Steps:
    """A turn of several steps, the machine driven by hand; `outs` is what was out after each thing that happened."""

    def __init__(self, mode: Mode) -> None:
        self.policy = Policy(mode=mode, window=16, carry=True, default_persona=PERSONA)
        self.turn = Play(self.policy).start().turn
        self.scan = AnswerScan(lambda: ScannerChain([REDACTOR.open_scanner])) if mode == "scan" else None
        self.outs = [""]
        self.done: RunOutput | None = None

    def happen(self, event: events.Event) -> None:
        """Let something happen, then have the chain judge what waits for it."""
        for entry in machine.decide(self.turn, event, START, self.policy, self.scan):
            self.turn = machine.evolve(self.turn, JournalRecord(self.turn.n, START, -1, entry))
        self.outs.append(self.turn.text)
        work = work_of(self.turn, self.policy)
        if isinstance(work, RunOutput) and work != self.done:
            self.done = work
            text = str(self.turn.buffer)[: work.upto]
            outcome = approved(Answer(text, tool_calls=self.turn.answer.tool_calls if work.final else ()))
            self.happen(events.PassDone(work.step, work.attempt, work.upto, work.final, outcome))

    def say(self, pieces: list[str], *, goes_on: bool) -> None:
        """Let the model say a step in pieces."""
        step = self.turn.step
        frames: list[ModelFrame] = [frame(seq, piece, step=step) for seq, piece in enumerate(pieces)]
        if goes_on:
            delta = ToolCallDelta(index=0, id="c1", name="look_up", arguments="{}")
            frames.append(frame(len(frames), step=step, tool_call_delta=delta))
        frames.append(frame(len(frames), step=step, finish_reason="tool_calls" if goes_on else "stop"))
        for one in frames:
            self.happen(events.Frames((one,)))
        if goes_on:
            assert self.turn.phase is Phase.TOOLS
            self.happen(events.ToolsAnswered((result("c1", step=step),)))


def approved(answer: Answer) -> Approved:
    """Return what the redactor makes of an answer."""
    return Approved(SSN.sub("[SSN]", answer.text), answer.tool_calls)


@pytest.mark.parametrize("mode", ["whole", "incremental", "scan"])
@given(steps=st.lists(WORDS, min_size=2, max_size=3), seed=st.integers(0, 1_000))
def test_what_two_steps_say_between_them_is_redacted(mode: Mode, steps: list[str], seed: int) -> None:
    """Each release is of the settled reply, which is the redaction of all that was said, as if it were one answer."""
    settled = SSN.sub("[SSN]", "".join(steps))
    turn = Steps(mode)
    for number, text in enumerate(steps):
        (pieces,) = random_splits(text, 1, seed + number)
        turn.say(pieces, goes_on=number < len(steps) - 1)
    assert turn.turn.outcome == "completed"
    assert turn.turn.text == settled
    assert all(settled.startswith(out) for out in turn.outs)


@pytest.mark.parametrize("mode", ["whole", "incremental", "scan"])
def test_a_number_that_a_tool_call_cuts_in_two_never_shows(mode: Mode) -> None:
    """Whatever follows it, also where a step says nothing at all."""
    turn = Steps(mode)
    turn.say(["id 123", "-45-"], goes_on=True)
    turn.say([], goes_on=True)
    turn.say(["67", "89 is it"], goes_on=False)
    assert turn.turn.text == "id [SSN] is it"
    assert not any("123" in out for out in turn.outs)
