"""Batches come out record by record; what cannot be read comes out as a record that says so, and nothing raises."""

from __future__ import annotations

import random
from typing import Any

import pytest
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from tests.topics.batches import CONTROL, GZIP, LZ4, NOW, SNAPPY, ZSTD, batch, record, sized, varint
from topics.batches import MAX_HEADERS, MAX_RECORDS, MAX_UNPACKED_BYTES, MAX_VALUE_BYTES, Batches
from topics.unreadable import Unreadable

START = 40
BAD = b"\xff\xfe"
CODECS = [0, GZIP, SNAPPY, LZ4, ZSTD]


def read(raw: bytes) -> list[Any]:
    """Return all records that `raw` gives, as a consumer's loop asks for them."""
    found: list[Any] = []
    source = Batches(raw)
    while source.has_next():
        one = source.next_batch()
        assert one is not None
        assert one.validate_crc()
        for item in one:
            assert one.base_offset <= item.offset < one.next_offset
            found.append(item)
    return found


def seen(raw: bytes) -> list[tuple[int, bytes | None, bool]]:
    """Return each record's offset and value, and whether it is readable."""
    return [(item.offset, item.value, not isinstance(item.value, Unreadable)) for item in read(raw)]


def good(number: int) -> bytes:
    """Return a record that is in order."""
    return record(number, b"good%d" % number)


def among(bad: bytes, **options: Any) -> bytes:
    """Return a batch of a good record, a bad one, and another good one."""
    return batch([good(0), bad, good(2)], offset=START, **options)


FIRST, LAST = (START, b"good0", True), (START + 2, b"good2", True)


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_in_order_is_read_as_aiokafka_reads_it(codec: int) -> None:
    """Fields, headers, missing values and keys, and several batches in a row."""
    records = [
        record(0, b"one", headers=[(b"name", b"value"), (b"", None), ("é".encode(), BAD)], time=5),
        record(1, None, key=None),
        record(2, b"", key=b""),
        record(3, b"x" * 100_000, time=-300),
    ]
    raw = batch(records, codec=codec, offset=START) + batch([good(0)], codec=codec, offset=START + 4)
    theirs = []
    source = MemoryRecords(raw)
    while source.has_next():
        theirs += list(source.next_batch())
    fields = ("offset", "timestamp", "timestamp_type", "key", "value", "checksum")
    assert [[getattr(one, field) for field in fields] for one in read(raw)] == [
        [getattr(one, field) for field in fields] for one in theirs
    ]
    assert [list(one.headers) for one in read(raw)] == [list(one.headers) for one in theirs]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (record(1, b"bad", headers=[(BAD, b"x")]), "not UTF-8"),
        (record(1, b"bad", headers=[(None, b"x")]), "no name"),
        (record(1, b"bad", header_count=-1), "-1 headers"),
        (record(1, b"bad", header_count=7), "cut off"),
        (record(1, b"bad", header_count=2**40), "headers"),
        (record(1, b"bad", tail=b"more"), "longer"),
        (record(0, b"bad"), f"its offset is {START + 1}, and it claims to be at {START}"),
        (record(1_000_000, b"bad"), "claims"),
        (record(-9, b"bad"), "claims"),
    ],
    ids=range(9),
)
def test_one_bad_record_costs_no_other(codec: int, bad: bytes, why: str) -> None:
    """It stands at its own offset, with its value, so that whoever it is about can be told."""
    raw = among(bad, codec=codec)
    assert seen(raw) == [FIRST, (START + 1, b"bad", False), LAST]
    assert why in read(raw)[1].value.reason
    assert read(raw)[1].headers == ()


@pytest.mark.parametrize(
    "bad",
    [
        record(1, b"bad", value_length=99_999),
        record(1, b"bad", value_length=2**62),
        sized(b"\x00" + varint(0) + varint(1) + b"\xff" * 12),
        sized(b""),
        sized(b"\x00"),
    ],
    ids=range(5),
)
def test_a_value_that_cannot_be_made_out_is_empty(bad: bytes) -> None:
    """The record's extent is known all the same, and the next one is found."""
    assert seen(among(bad)) == [FIRST, (START + 1, b"", False), LAST]


@pytest.mark.parametrize("bad", [record(1, b"bad", length=5000), record(1, b"bad", length=-1), b"\xff" * 12])
def test_where_the_next_record_cannot_be_found_one_stands_for_the_rest(bad: bytes) -> None:
    """At the batch's last offset, so that reading goes on behind it; it says for which offsets it stands."""
    raw = among(bad) + batch([good(0)], offset=START + 3)
    assert seen(raw) == [FIRST, (START + 2, b"", False), (START + 3, b"good0", True)]
    assert f"offsets {START + 1} to {START + 2}" in read(raw)[1].value.reason


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"checksum": 1}, "checksum"),
        ({"attributes": 5}, "compression"),
        ({"codec": GZIP, "data": b"nonsense"}, "gzip"),
        ({"codec": SNAPPY, "data": b"nonsense"}, "snappy"),
        ({"codec": SNAPPY, "data": b"\x82SNAPPY\x00" + bytes(8) + b"\xff\xff\xff\xf0abc"}, "snappy"),
        ({"codec": LZ4, "data": b"nonsense"}, "lz4"),
        ({"codec": ZSTD, "data": b"nonsense"}, "zstd"),
        ({"count": -1}, "-1 records"),
        ({"count": 0}, "0 records"),
        ({"count": 4}, "4 records"),
        ({"last": -2}, "records"),
        ({"count": 2**31 - 1, "last": 2**31 - 2}, "records"),
        ({"form": 1}, "format"),
        ({"form": 3}, "format"),
    ],
    ids=str,
)
def test_a_bad_batch_is_one_record_that_says_so(options: dict[str, Any], why: str) -> None:
    """And costs the batches before and behind it nothing."""
    raw = batch([good(0)], offset=START - 1) + among(good(1), **options)
    before, bad = read(raw)
    assert (before.offset, before.value) == (START - 1, b"good0")
    assert isinstance(bad.value, Unreadable)
    assert why in bad.value.reason


def test_records_that_compaction_left_keep_their_offsets() -> None:
    """A journal's batch has gaps, at its end too; a claim that goes back is not believed."""
    raw = batch(
        [record(3, b"three"), record(7, b"seven"), record(5, b"bad"), record(9, b"nine")], last=11, offset=START
    )
    assert seen(raw) == [
        (START + 3, b"three", True),
        (START + 7, b"seven", True),
        (START + 8, b"bad", False),
        (START + 9, b"nine", True),
    ]
    (one,) = _batches(raw)
    assert one.next_offset == START + 12
    assert seen(batch([], last=4, count=0, offset=START)) == []


def test_control_batches_are_known_as_such() -> None:
    """They are a broker's notes about transactions, and consumers skip them."""
    marker = b"\x00\x00\x00\x00"
    (one,) = _batches(batch([record(0, b"", key=marker)], attributes=CONTROL))
    assert one.is_control_batch
    assert next(one).key == marker
    (doubtful,) = _batches(batch([record(0, b"", key=marker)], attributes=CONTROL, checksum=7))
    assert not doubtful.is_control_batch


def test_the_brokers_time_goes_before_the_writers() -> None:
    """Where the topic says so."""
    (one,) = read(batch([record(0, b"x", time=77, header_count=0)], attributes=0x08))
    (odd,) = read(batch([record(0, b"x", time=77, headers=[(BAD, b"")])], attributes=0x08))
    assert (one.timestamp, one.timestamp_type) == (odd.timestamp, odd.timestamp_type) == (NOW, 1)


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_a_batch_that_unpacks_without_end_is_read_as_far_as_memory_is_given_to_it(codec: int) -> None:
    """What came before the large record is kept; the rest is one record that says so."""
    raw = among(record(1, bytes(MAX_UNPACKED_BYTES * 3)), codec=codec)
    assert len(raw) < MAX_UNPACKED_BYTES / 20
    assert seen(raw) == [FIRST, (START + 2, b"", False)]
    assert "unpacks" in read(raw)[1].value.reason


def test_a_snappy_batch_that_unpacks_without_end_is_refused() -> None:
    """It says beforehand how long it gets, also where that is a lie."""
    raw = among(record(1, bytes(MAX_UNPACKED_BYTES * 3)), codec=SNAPPY)
    lie = among(good(1), codec=SNAPPY, data=b"\xff\xff\xff\xff\x0f" + b"x" * 30)
    assert [seen(one) for one in (raw, lie)] == [[(START + 2, b"", False)]] * 2


def test_a_value_that_nobody_would_take_is_not_kept() -> None:
    """Its neighbours are."""
    raw = among(record(1, bytes(MAX_VALUE_BYTES + 1)), codec=ZSTD)
    assert seen(raw) == [FIRST, (START + 1, b"", False), LAST]
    assert str(MAX_VALUE_BYTES + 1) in read(raw)[1].value.reason


def test_more_records_than_memory_is_given_to_are_refused() -> None:
    """The shortest record takes seven bytes on the wire, and hundreds here."""
    many = MAX_RECORDS + 1
    (only,) = read(
        batch([b"".join(record(0, b"", key=None) for _ in range(many))], count=many, last=many - 1, codec=ZSTD)
    )
    assert str(many) in only.value.reason


def test_more_headers_than_memory_is_given_to_are_refused() -> None:
    """Neither of one record nor of many."""
    few = record(0, b"few", headers=[(b"", b"")] * 10)
    raw = batch([few, record(1, b"many", headers=[(b"", b"")] * (MAX_HEADERS + 1)), record(2, b"none")], offset=START)
    assert seen(raw)[:2] == [(START, b"few", True), (START + 1, b"many", False)]


def test_a_fetch_ends_early_when_its_batches_unpack_well() -> None:
    """The rest is fetched again; together they would take gigabytes."""
    one = batch([record(0, bytes(MAX_VALUE_BYTES)) for _ in range(7)], codec=ZSTD)
    raw = one * 200
    assert len(raw) < 1_000_000
    source = Batches(raw)
    read_batches = 0
    while source.has_next():
        found = source.next_batch()
        assert found is not None
        list(found)
        read_batches += 1
    assert 1 < read_batches < 10


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    """Fetches end anywhere."""
    whole = batch([good(0)])
    assert seen(whole + whole[:-1]) == seen(whole + whole[:5]) == seen(whole)
    assert not Batches(whole[:-1]).has_next()
    assert Batches(whole[:-1]).size_in_bytes() == len(whole) - 1


@pytest.mark.parametrize("codec", CODECS)
def test_no_damage_raises(codec: int) -> None:
    """Whatever byte is changed, with a checksum that fits: offsets ascend within the batch, and reading ends."""
    rng = random.Random(codec)
    whole = among(record(1, b"middle", headers=[(b"name", b"value")]), codec=codec)
    for _ in range(3000):
        raw = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            raw[rng.randrange(21, len(raw))] = rng.randrange(256)
        raw[17:21] = calc_crc32c(bytes(raw[21:])).to_bytes(4)
        offsets = [item.offset for item in read(bytes(raw))]
        assert offsets == sorted(set(offsets))


def _batches(raw: bytes) -> list[Any]:
    source = Batches(raw)
    found = []
    while source.has_next():
        found.append(source.next_batch())
    return found
