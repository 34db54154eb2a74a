"""Keys and limits: who a caller is, and how much they may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from streams.gateway.keys import Caller, Keys, KeysError, KeySettings, hash_of, new_key, read_keys
from streams.gateway.limits import Limits, TooManyError


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def entry(name: str, key: str, tenant: str = "acme") -> str:
    """Return an entry of a key file."""
    return f'[keys.{name}]\nsha256 = "{hash_of(key)}"\ntenant = "{tenant}"\n'


def test_a_key_tells_whose_it_is_and_only_its_hash_is_kept() -> None:
    """Another key, however similar, tells nothing."""
    key, other = new_key(), new_key()
    kept = {
        "one": KeySettings(sha256=hash_of(key), tenant="acme", user="u-1"),
        "two": KeySettings(sha256=hash_of(other), tenant="globex"),
    }
    keys = Keys(kept, None, Clock())
    assert keys.caller(key) == Caller("one", "acme", "u-1")
    assert keys.caller(other) == Caller("two", "globex")
    assert [keys.caller(wrong) for wrong in ("", key[:-1], key + "x", key.upper(), hash_of(key), "x" * 10_000)] == [
        None
    ] * 6
    assert key not in repr(kept)


def test_a_changed_file_counts_within_seconds(tmp_path: Path) -> None:
    """A key that was taken out is refused; a file that makes no sense leaves the keys as they were."""
    one, two, clock, path = new_key(), new_key(), Clock(), tmp_path / "keys.toml"
    path.write_text(entry("one", one))
    keys = Keys({}, path, clock)
    assert keys.caller(one) == Caller("one", "acme")
    path.write_text(entry("second", two))
    clock.now += 10
    assert (keys.caller(one), keys.caller(two)) == (None, Caller("second", "acme"))
    path.write_text("keys = 5\n# and more than before")
    clock.now += 10
    assert keys.caller(two) == Caller("second", "acme")
    assert keys.fault is not None
    path.unlink()
    clock.now += 10
    assert keys.caller(two) == Caller("second", "acme")


@pytest.mark.parametrize(
    "text",
    [
        "keys = 5",
        "[key.one]\nsha256 = ''",
        "[keys.one]\nsha256 = 'secret'",
        "[keys.'a b']",
        "not toml",
        entry("x", "y") + "z=1",
    ],
)
def test_a_file_that_makes_no_sense_is_refused_at_the_start(tmp_path: Path, text: str) -> None:
    """Nothing of it is shown."""
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(KeysError) as raised:
        read_keys(path)
    assert "secret" not in str(raised.value)


def test_what_is_kept_of_a_key_is_a_hash_and_nothing_else() -> None:
    """A key in its place is refused."""
    with pytest.raises(ValidationError):
        KeySettings(sha256=new_key())


def limits(clock: Clock) -> Limits:
    """Return limits of six requests a minute, two streams for a key, three in all."""
    return Limits(requests_per_minute=6, streams_per_key=2, streams=3, clock=clock)


def test_requests_are_counted_for_each_key() -> None:
    """One that has none left is told when to come again, and may save up no more than a minute's."""
    clock = Clock()
    counted = limits(clock)
    for _ in range(6):
        counted.request("one")
    with pytest.raises(TooManyError) as raised:
        counted.request("one")
    assert raised.value.retry_after_s == 10
    counted.request("two")
    clock.now += 10
    counted.request("one")
    clock.now += 10_000
    for _ in range(6):
        counted.request("one")
    with pytest.raises(TooManyError):
        counted.request("one")


def test_streams_are_counted_while_they_are_open() -> None:
    """For each key and in all."""
    counted = limits(Clock())
    with counted.stream("one"), counted.stream("one"):
        with pytest.raises(TooManyError), counted.stream("one"):
            pass
        with counted.stream("two"), pytest.raises(TooManyError), counted.stream("three"):
            pass
    with counted.stream("one"), counted.stream("one"), counted.stream("three"):
        pass
