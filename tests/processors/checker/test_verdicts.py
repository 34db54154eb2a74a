"""Verdicts that depend on more than the text, and processors that throw."""

from __future__ import annotations

import datetime as dt
import os
import random
import time
from datetime import datetime

import pytest

from processors import Answer, Deps, Incremental, Pass, Replace, TurnContext, output_processor
from processors.checker import Finding
from processors.testing import check_promise
from tests.processors.checker.finding import example, kinds, the

_WINDOW = Incremental(lookback_chars=8)


class EveryHundredth:
    """Counts its calls."""

    name = "counts"
    incremental = _WINDOW

    def __init__(self) -> None:
        self.calls = 0

    def process(self, answer: Answer) -> Replace:
        """Write the hundredth answer large."""
        self.calls += 1
        return Replace(answer.text.upper() if self.calls % 100 == 0 else answer.text)


class Remembers:
    """Keeps a word from one answer for the next."""

    name = "remembers"
    incremental = _WINDOW

    def __init__(self) -> None:
        self.warned = False

    def process(self, answer: Answer) -> Replace:
        """Be strict once a card number was seen."""
        self.warned = self.warned or "4111 1111" in answer.text
        return Replace(answer.text.replace("fox", "***") if self.warned else answer.text)


class Jumps:
    """Writes differently when more than one character came since it was asked last."""

    name = "jumps"
    incremental = Incremental(lookback_chars=0)

    def __init__(self) -> None:
        self.last = ""

    def process(self, answer: Answer) -> Replace:
        """Change the last character after a jump."""
        last, self.last = self.last, answer.text
        jumped = last and answer.text.startswith(last) and len(answer.text) > len(last) + 1
        return Replace(answer.text[:-1] + "~" if jumped and not answer.complete else answer.text)


def unsteady(member: object) -> Finding:
    """Return what is said of a processor that depends on something."""
    report = check_promise([member])
    (found,) = (one for one in report.findings if one.kind in ("unsteady", "context"))
    assert report.ok == (found.level == "warning")
    if found.level == "error":
        assert report.members[0].smallest is None, "a window is named for what no window can mend"
    return found


def test_a_processor_that_counts_its_calls_is_found() -> None:
    """The same call gives different verdicts."""
    assert "how often it was called" in unsteady(EveryHundredth()).message


def test_a_processor_that_depends_on_chance_is_found() -> None:
    """Even if that is rare."""
    rng = random.Random(1)

    @output_processor("chance", incremental=_WINDOW)
    def chance(answer: Answer) -> Replace:
        return Replace(answer.text.upper() if rng.random() < 0.05 else answer.text)

    assert "chance" in unsteady(chance).message


def test_a_processor_that_remembers_earlier_texts_is_found() -> None:
    """Called twice with the same text, it says the same: the texts before make the difference."""
    assert "what it judged before" in unsteady(Remembers()).message


def test_a_processor_that_only_random_frames_unsettle_is_found() -> None:
    """Prefix by prefix, in whatever order, it is steady."""
    assert "a sequence of frames leaks" in unsteady(Jumps()).message


@output_processor("by-module", incremental=_WINDOW)
def by_module(answer: Answer) -> Replace:
    """Look at the hour through the module."""
    return Replace(answer.text.upper() if dt.datetime.now(tz=dt.UTC).hour % 2 else answer.text)


@output_processor("by-class", incremental=_WINDOW)
def by_class(answer: Answer) -> Replace:
    """Look at the day of the week through a name of its own."""
    return Replace(answer.text.upper() if datetime.now(tz=dt.UTC).weekday() % 2 else answer.text)


@output_processor("by-seconds", incremental=_WINDOW)
def by_seconds(answer: Answer) -> Replace:
    """Look at the seconds."""
    return Replace(answer.text.upper() if int(time.time()) // 3600 % 2 else answer.text)


@output_processor("stamped")
def stamped(answer: Answer) -> Replace:
    """Write the time down."""
    return Replace(f"{answer.text} at {time.time_ns()}")


@pytest.mark.parametrize("member", [by_module, by_class, by_seconds, stamped])
def test_a_processor_that_looks_at_the_clock_is_found(member: object) -> None:
    """By hours, by days, and in any instant; chance is told from it."""
    assert "on the time" in unsteady(member).message


@output_processor("by-turn", incremental=_WINDOW)
def by_turn(answer: Answer, context: TurnContext) -> Replace:
    """Sample turns by their id."""
    return Replace(answer.text.upper() if sum(context.turn_id.encode()) % 2 else answer.text)


@output_processor("by-attempt", incremental=_WINDOW)
def by_attempt(answer: Answer) -> Replace:
    """Be stricter the second time."""
    return Replace(answer.text.upper() if answer.attempt else answer.text)


@output_processor("by-channel", incremental=_WINDOW)
def by_channel(answer: Answer) -> Replace:
    """Speak differently."""
    return Replace(answer.text.replace("*", "") if answer.context.channel == "voice" else answer.text)


@pytest.mark.parametrize(("member", "field"), [(by_turn, "turn_id"), (by_attempt, "attempt")])
def test_a_processor_that_depends_on_ids_is_an_error_that_names_them(member: object, field: str) -> None:
    """They are new for each turn: no two answers would be judged alike."""
    found = unsteady(member)
    assert found.level == "error"
    assert f"({field})" in found.message


def test_a_processor_that_depends_on_who_asks_is_a_warning() -> None:
    """That is the same throughout a turn, and may be meant."""
    found = unsteady(by_channel)
    assert (found.level, found.kind) == ("warning", "context")
    assert "(channel)" in found.message


@output_processor("by-name", incremental=_WINDOW)
def by_name(answer: Answer) -> Replace:
    """Treat some tenants differently: one in sixteen."""
    return Replace(answer.text.upper() if answer.context.tenant.startswith("a") else answer.text)


def test_a_processor_that_depends_on_few_of_those_who_ask_is_told_from_one_that_remembers() -> None:
    """What is looked into is what made the difference when it was seen."""
    found = unsteady(by_name)
    assert (found.level, found.kind) == ("warning", "context")
    assert "(tenant)" in found.message


@output_processor("by-hash", incremental=_WINDOW)
def by_hash(answer: Answer) -> Replace:
    """Sample answers by a number that each process has its own of."""
    return Replace(answer.text.upper() if answer.complete and hash(answer.text) % 40 == 7 else answer.text)


@output_processor("by-pid", incremental=_WINDOW)
def by_pid(answer: Answer) -> Replace:
    """Sign answers."""
    return Replace(f"{answer.text} {os.getpid()}" if answer.complete else answer.text)


@pytest.mark.parametrize("member", [by_hash, by_pid])
def test_a_processor_that_differs_from_process_to_process_is_found(member: object) -> None:
    """In each of them it is steady, and a turn's passes may run in several."""
    assert "on the process it runs in" in unsteady(member).message


def test_rare_chance_is_not_taken_for_the_clock() -> None:
    """That it did not happen while the clock stood still proves nothing."""
    rng = random.Random(3)

    @output_processor("dice", incremental=_WINDOW)
    def dice(answer: Answer) -> Replace:
        return Replace(answer.text.upper() if rng.random() < 0.002 else answer.text)

    assert "on the time" not in unsteady(dice).message


def test_one_unsteady_member_is_named_and_the_other_is_not() -> None:
    """The chain's window means nothing then, the other member's does."""
    report = check_promise(Deps(output_processors=[by_attempt, by_channel]))
    assert [one.processor for one in report.errors] == ["by-attempt"]
    assert [member.smallest for member in report.members] == [None, 0]
    assert report.chain is not None
    assert report.chain.smallest is None


def test_exceptions_on_prefixes_are_allowed_and_noted() -> None:
    """The class is named, and where it is thrown first."""

    @output_processor("thrower", incremental=_WINDOW)
    def thrower(answer: Answer) -> Pass:
        if not answer.complete and answer.text.endswith("fox"):
            raise ValueError(answer.text)
        return Pass()

    report = check_promise([thrower])
    assert report.ok
    found = the(report, "throws-on-prefix", "thrower")
    assert (found.level, example(found).head[-3:]) == ("note", "fox")
    assert "ValueError" in found.message
    assert "quick brown" not in found.message


def test_exceptions_on_whole_answers_are_errors_with_the_shortest_text() -> None:
    """Such a turn would fail."""

    @output_processor("thrower")
    def thrower(answer: Answer) -> Pass:
        if answer.text.endswith("noon."):
            raise KeyError(answer.text)
        return Pass()

    report = check_promise([thrower])
    found = the(report, "throws", "thrower")
    assert (found.level, example(found).head + example(found).tail) == ("error", "noon.")
    assert "KeyError" in found.message


def test_an_answer_that_is_no_verdict_is_an_error_too() -> None:
    """A processor that forgets to return is as broken as one that throws."""

    @output_processor("forgets")
    def forgets(answer: Answer) -> Pass | None:
        return Pass() if len(answer.text) > 3 else None

    assert "MalformedVerdictError" in the(check_promise([forgets]), "throws", "forgets").message


def test_throwing_only_where_an_answer_is_cut_short_is_a_warning() -> None:
    """Answers that end for their length do end so."""

    @output_processor("parses")
    def parses(answer: Answer) -> Pass:
        if answer.text.startswith("{") and len(answer.text) == 30:
            raise ValueError(answer.text)
        return Pass()

    report = check_promise([parses])
    assert kinds(report, "warning") == {"throws"}
    assert report.ok


def test_an_async_processor_is_checked_like_any_other() -> None:
    """On a loop of its own, so that it can be called from anywhere."""

    @output_processor("patient", incremental=Incremental(lookback_chars=2))
    async def patient(answer: Answer) -> Replace:
        return Replace(answer.text.replace("1234", "####"))

    assert the(check_promise([patient]), "window", "patient").needed == 3


async def test_it_can_be_called_where_an_event_loop_runs() -> None:
    """Async processors included."""

    @output_processor("patient", incremental=Incremental(lookback_chars=3))
    async def patient(answer: Answer) -> Replace:
        return Replace(answer.text.replace("1234", "####"))

    assert check_promise([patient]).ok
