"""What counts as a retry: asking a provider again in the same step."""

from __future__ import annotations

from streams.models.asked import AskedProviders
from tests.streams.models.requests import request


def test_asking_the_same_provider_again_in_a_step_is_a_retry() -> None:
    """The first attempt never is one, and neither is another step's."""
    asked = AskedProviders()
    assert not asked.is_retry(request(), "one")
    asked.ask(request(), "one")
    assert asked.is_retry(request(attempt=1, retry=True), "one")
    assert not asked.is_retry(request(step=1), "one")
    assert not asked.is_retry(request(turn="other"), "one")


def test_a_fallback_s_first_call_is_no_retry() -> None:
    """Its second one is."""
    asked = AskedProviders()
    asked.is_retry(request(), "one")
    asked.ask(request(), "one")
    assert not asked.is_retry(request(attempt=1, retry=True), "two")
    asked.ask(request(attempt=1, retry=True), "two")
    assert asked.is_retry(request(attempt=2, retry=True), "two")


def test_an_attempt_that_was_never_made_asked_nobody() -> None:
    """The circuit was open at first: the call that follows is the first one."""
    asked = AskedProviders()
    assert not asked.is_retry(request(), "one")
    assert not asked.is_retry(request(attempt=1, retry=True), "one")


def test_of_a_step_that_nothing_is_known_of_later_attempts_are_retries() -> None:
    """The runner that made the first one is gone: better one retry too few."""
    asked = AskedProviders()
    assert asked.is_retry(request(attempt=1, retry=True), "two")
    assert asked.is_retry(request(attempt=2, retry=True), "two")


def test_only_so_many_steps_are_remembered() -> None:
    """Those that were seen last."""
    asked = AskedProviders(kept=2)
    for turn in ("a", "b", "a", "c"):
        asked.is_retry(request(turn=turn), "one")
    assert not asked.is_retry(request(turn="a", attempt=1, retry=True), "one")
    assert asked.is_retry(request(turn="b", attempt=1, retry=True), "one")


def test_a_call_that_was_only_interrupted_is_made_again_at_nobodys_cost() -> None:
    """Whether or not this runner made the first one: the provider did nothing wrong."""
    asked = AskedProviders()
    asked.is_retry(request(), "one")
    asked.ask(request(), "one")
    assert not asked.is_retry(request(attempt=1), "one")
    assert not asked.is_retry(request(turn="other", attempt=1), "one")
