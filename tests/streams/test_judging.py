"""Everything that an answer says to its reader is judged, the model's own refusal too."""

from __future__ import annotations

from dataclasses import replace

from processors import Answer, Deps, Pass, Reject, Replace, output_processor
from processors.outcomes import Approved, OutputOutcome, Refused
from streams.chains import InlineChainRunner
from streams.judging import judge


@output_processor(name="mask")
def mask(answer: Answer) -> Replace:
    """Mask the name."""
    return Replace(answer.text.replace("Bob", "[name]"))


@output_processor(name="no-secrets")
def no_secrets(answer: Answer) -> Pass | Reject:
    """Reject what tells the code word."""
    return Reject("policy") if "swordfish" in answer.text else Pass()


ANSWER = Answer(text="Bob knows.", refusal="I will not tell Bob.")


async def judged(answer: Answer) -> OutputOutcome:
    """Return what the chain of this module says about `answer`."""
    chains = InlineChainRunner(Deps(output_processors=[mask, no_secrets]))
    await chains.start()
    return await judge(chains, answer)


async def test_a_refusal_goes_through_the_chain() -> None:
    """It comes out as the chain rewrote it, and both runs are reported."""
    outcome = await judged(ANSWER)
    assert isinstance(outcome, Approved)
    assert (outcome.text, outcome.refusal) == ("[name] knows.", "I will not tell [name].")
    assert [report.processor for report in outcome.reports] == ["mask", "no-secrets"] * 2


async def test_a_refusal_can_be_rejected() -> None:
    """The answer then is rejected with it, by whoever rejected it."""
    outcome = await judged(replace(ANSWER, refusal="The word is swordfish."))
    assert isinstance(outcome, Refused)
    assert outcome.processor == "no-secrets"


async def test_a_prefix_is_judged_by_its_text_alone() -> None:
    """A refusal is complete only with the answer, so until then it is nobody's to see."""
    outcome = await judged(replace(ANSWER, complete=False))
    assert isinstance(outcome, Approved)
    assert outcome.refusal is None
