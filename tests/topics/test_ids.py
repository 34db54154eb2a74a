"""Identities, and the partition that everything about a thread shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from topics.ids import Id, ThreadKey, TurnKey

IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="/"), min_size=1, max_size=40)
ID: TypeAdapter[str] = TypeAdapter(Id)


@given(IDS, IDS, IDS)
def test_a_turn_is_read_back_from_its_name(tenant: str, thread_id: str, turn_id: str) -> None:
    """No part can contain what separates the parts."""
    turn = TurnKey(tenant, thread_id, turn_id)
    assert TurnKey.parse(str(turn)) == turn
    assert turn.thread == ThreadKey(tenant, thread_id)


@pytest.mark.parametrize("name", ["", "turn", "tenant/turn", "a/b/c/d"])
def test_a_name_of_other_than_three_parts_is_refused(name: str) -> None:
    """Rather than guessed at."""
    with pytest.raises(ValueError, match="unpack"):
        TurnKey.parse(name)


@given(IDS)
def test_what_is_an_id_is_accepted(value: str) -> None:
    """In any script."""
    assert ID.validate_python(value) == value


@pytest.mark.parametrize("value", ["", "a/b", "/", "a\nb", "a\n", "\x00", "a\x7f", "x" * 201, None, 7])
def test_what_is_no_id_is_refused(value: object) -> None:
    """Slashes would break keys, control characters break logs, and long ones are an attack."""
    with pytest.raises(ValidationError):
        ID.validate_python(value)


def test_the_key_is_tenant_and_thread_in_utf8() -> None:
    """Producers in any language write the same bytes."""
    assert ThreadKey("acme", "thr\N{LATIN SMALL LETTER E WITH ACUTE}ad").encode() == "acme/thr\xe9ad".encode()


@pytest.mark.parametrize(
    ("key", "hashed"),
    # From Kafka's own tests of Utils.murmur2, so that this is Java's hash and not merely ours.
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536)],
)
def test_the_partition_is_the_one_of_the_java_client(key: bytes, hashed: int) -> None:
    """Its default partitioner takes the positive part of murmur2, modulo the number of partitions."""

    class Raw(ThreadKey):
        def encode(self) -> bytes:
            return key

    for partitions in (1, 2, 3, 12, 100):
        assert Raw("", "").partition(partitions) == (hashed & 0x7FFFFFFF) % partitions


@given(IDS, IDS, st.integers(1, 1000))
def test_a_partition_is_one_of_those_there_are(tenant: str, thread_id: str, partitions: int) -> None:
    """Always the same for the same thread."""
    key = ThreadKey(tenant, thread_id)
    assert 0 <= key.partition(partitions) < partitions
    assert key.partition(partitions) == ThreadKey(tenant, thread_id).partition(partitions)


def test_threads_spread_over_partitions() -> None:
    """None stays empty."""
    used = {ThreadKey("default", f"thread-{number}").partition(12) for number in range(500)}
    assert used == set(range(12))
