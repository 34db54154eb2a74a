"""`run_gate`: a chain tried in a test."""

from __future__ import annotations

import asyncio
import re

import pytest

from processors import Answer, Deps, DepsError, Incremental, Pass, Replace, output_processor
from processors.testing import GateResult, gate_policy, run_gate
from streams.gate.policy import Policy
from streams.gate_run import FrameInputError

EMAIL = re.compile(r"[\w.]+@[\w.]+\.[a-z]{2,}")


@output_processor(name="redact-emails", incremental=Incremental(lookback_chars=8))
def redact_emails(answer: Answer) -> Replace:
    """Hide addresses."""
    return Replace(EMAIL.sub("[email]", answer.text))


@output_processor(name="patient", incremental=Incremental(lookback_chars=3))
async def patient(answer: Answer) -> Pass:
    """Let everything pass, after a while."""
    await asyncio.sleep(0)
    assert answer.text
    return Pass()


@output_processor(name="broken")
def broken(answer: Answer) -> Pass:
    """Fail."""
    raise KeyError(answer.text)


def test_a_chain_is_tried_with_a_list_of_texts() -> None:
    """The result says what a reader would have seen."""
    run = run_gate([redact_emails], ["Write to bob", "@acme.example", " today, please"])
    assert run == GateResult(
        releases=["Writ", "e to", " [email] today", ", please"],
        outcome="completed",
        text="Write to [email] today, please",
    )


def test_every_result_is_told() -> None:
    """A failing processor is named."""
    run = run_gate([broken], ["fk-live-1"])
    assert (run.releases, run.outcome, run.text) == ([], "failed", "")
    assert (run.error, run.processor) == ("ProcessorFailedError", "broken")
    assert "KeyError" in (run.reason or "")
    assert "fk-live" not in (run.reason or "")


def test_a_deps_will_do_and_its_window_holds() -> None:
    """Unless the call says otherwise."""
    chain = (redact_emails, patient)
    deps = Deps(output_processors=chain, window="sum")
    text = ["0123456789abcdef"]
    assert run_gate(deps, text).releases[0] == "01234"
    assert run_gate(chain, text).releases[0] == "01234567"
    assert run_gate(chain, text, window="sum").releases[0] == "01234"
    assert run_gate(deps, text, window="widest").releases[0] == "01234567"


async def test_it_can_be_called_where_an_event_loop_runs() -> None:
    """Like any function, async processors included."""
    assert run_gate([patient], ["text"]).text == "text"


def test_no_chain_is_live() -> None:
    """An empty list is a chain too."""
    assert run_gate([], ["a", "b"]).releases == ["a", "b"]


def test_what_is_no_chain_or_no_frame_is_refused() -> None:
    """With the error that says how it ought to be."""
    with pytest.raises(DepsError, match="output_processors"):
        run_gate([lambda answer: answer], ["a"])
    with pytest.raises(FrameInputError, match="frame 0"):
        run_gate([], [{"seq": "zero"}])


@pytest.mark.parametrize(
    ("deps", "policy"),
    [
        (Deps(), Policy()),
        (Deps(output_processors=[redact_emails, broken]), Policy(mode="whole", window=8)),
        (Deps(output_processors=[redact_emails, patient]), Policy(mode="incremental", window=8)),
        (Deps(output_processors=[redact_emails, patient], window="sum"), Policy(mode="incremental", window=11)),
    ],
)
def test_the_policy_follows_from_the_chain(deps: Deps, policy: Policy) -> None:
    """One undeclared member makes it a whole-answer chain."""
    assert gate_policy(deps) == policy
