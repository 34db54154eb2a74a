"""How long a provider asks to be left alone, as servers say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.models.waits import MAX_WAIT_S, wait_of

#: Wed, 21 Oct 2015 07:28:00 GMT
NOW = 1_445_412_480.0


def wait(headers: dict[str, str], *, limited: bool = True) -> float | None:
    """Return the wait that headers ask for whose server says that it is `NOW`, unless they say something else."""
    return wait_of({"date": "Wed, 21 Oct 2015 07:28:00 GMT"} | headers, limited=limited)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("0", 0.0),
        ("12", 12.0),
        (" 1.5 ", 1.5),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 09:28:30 +0200", 30.0),
        ("Wed, 21 Oct 2015 07:28:30 -0000", 30.0),
        ("86400", MAX_WAIT_S),
        ("9" * 18, MAX_WAIT_S),
        ("Wed, 21 Oct 2099 07:28:00 GMT", MAX_WAIT_S),
        ("", None),
        ("-1", None),
        ("inf", None),
        ("nan", None),
        ("1e3", None),
        ("soon", None),
        ("١٢", None),
        ("Wed, 99 Oct 2015 07:28:30 GMT", None),
        ("Wed, 21 Oct 99999999 07:28:30 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(said: str, meant: float | None) -> None:
    """In the past is now, too far away is an hour, and what cannot be read is not there."""
    assert wait({"retry-after": said}) == meant
    assert wait({"retry-after": said}, limited=False) == meant


def test_a_date_is_compared_with_the_server_s_own_time() -> None:
    """Its clock may be an hour off; the length of the wait is right nevertheless. One that tells no time has no clock."""
    until = {"retry-after": "Wed, 21 Oct 2015 08:28:07 GMT"}
    assert wait(until | {"date": "Wed, 21 Oct 2015 08:28:00 GMT"}) == 7
    assert wait(until | {"date": "at noon"}) is None


def test_milliseconds_are_more_precise() -> None:
    """Both come together, the seconds rounded."""
    assert wait({"retry-after-ms": "250", "retry-after": "1"}) == 0.25
    assert wait({"retry-after-ms": "?", "retry-after": "1"}) == 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [("1s", 1.0), ("6m0s", 360.0), ("20ms", 0.02), ("1h2m", MAX_WAIT_S), ("1.5s", 1.5), ("7", 7.0), ("6x", None)],
)
def test_the_reset_of_a_limit_that_is_used_up_counts(said: str, meant: float | None) -> None:
    """In the lengths that OpenAI writes."""
    assert wait({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": said}) == meant


def test_only_limits_that_are_used_up_are_waited_for_and_the_longest_of_them() -> None:
    """Both limits are told in every answer; that of tokens may be reset in minutes and have thousands left."""
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-remaining-tokens": "1200",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert wait(headers) == 2
    assert wait(headers | {"x-ratelimit-remaining-tokens": "0"}) == 360
    assert wait(headers | {"x-ratelimit-remaining-requests": "3"}) is None
    assert wait(headers, limited=False) is None


@pytest.mark.parametrize("name", ["ratelimit-reset", "x-ratelimit-reset"])
@pytest.mark.parametrize(
    ("said", "meant"),
    [("9", 9.0), (f"{NOW + 9:.0f}", 9.0), (f"{(NOW + 9) * 1000:.0f}", 9.0), (f"{NOW - 9:.0f}", 0.0), ("later", None)],
)
def test_a_reset_may_be_a_length_or_a_time(name: str, said: str, meant: float | None) -> None:
    """Told apart by their size."""
    assert wait({name: said}) == meant


def test_without_any_of_them_nothing_is_asked_for() -> None:
    """Most refusals are of this kind."""
    assert wait({"content-type": "application/json"}) is None


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "date", "x-ratelimit-reset", "x-ratelimit-reset-tokens"]),
        st.text() | st.from_regex(r"[0-9.hms]{1,12}") | st.floats().map(str) | st.integers().map(str),
    ),
    st.booleans(),
)
def test_whatever_a_server_writes_the_wait_can_be_waited_for(headers: dict[str, str], limited: bool) -> None:
    """A length from nothing to an hour, or none."""
    found = wait_of(headers | {"x-ratelimit-remaining-tokens": "0"}, limited=limited)
    assert found is None or 0 <= found <= MAX_WAIT_S
