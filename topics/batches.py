"""Record batches as brokers hand them out, read so that no record can stop its partition.

aiokafka's own reader raises at the first thing it cannot read, and a consumer that starts over meets the same thing again:
whoever may write to a topic could stop a partition for ever. Brokers let quite something pass. A Java broker checks the
structure of what it is sent, but not whether a header's name is UTF-8, whether a record's place in its batch is the one
that it claims, or what a batch becomes when it is unpacked; the embedded broker checks nearly nothing.

Here a record that cannot be read comes out as one whose value is `Unreadable`, at its own offset, and reading goes on with
the next one. Where not even the next one can be found, one such record stands, at the batch's last offset, for the rest
of the batch. A record's offset is its place: what it claims itself is checked against that, because an offset from out
of nowhere would be committed, and everything up to it be passed over.

The wire format is that of message format 2, which Kafka 3 and later store exclusively.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.util import calc_crc32c

from topics.unpacking import UnpackError, unpack
from topics.unreadable import Unreadable

#: The most bytes that one batch may unpack to. Brokers limit what is sent, 1 MB as a rule: 900 KB can become 30 GB.
MAX_UNPACKED_BYTES = 16 * 1024 * 1024
#: The most records of a batch, and the most headers of its records together: the shortest take hundreds of times their
#: size in memory. turngate reads no headers.
MAX_RECORDS = 100_000
MAX_HEADERS = 100_000
#: Bytes in memory, about, after which a fetch ends early, so that batches that unpack well do not meet there.
ENOUGH = 32 * 1024 * 1024
#: The largest value that is kept. Larger ones are refused in any case, and would only fill memory until then.
MAX_VALUE_BYTES = 2 * 1024 * 1024
#: What a record takes in memory beside its content.
_RECORD_COST = 500

#: Base offset, length from here on.
_FRAME = struct.Struct(">qi")
#: Leader epoch, magic, checksum.
_GUARD = struct.Struct(">ibI")
#: Attributes, last offset delta, first and largest timestamp, producer and its epoch, first sequence, record count.
_HEADER = struct.Struct(">hiqqqhii")
_HEADER_AT = _FRAME.size + _GUARD.size
_RECORDS_AT = _HEADER_AT + _HEADER.size
_CODEC_AT = _HEADER_AT + 1
_FORMAT_AT = _FRAME.size + 4
_FORMAT = 2
_CODEC, _BROKER_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
#: A number takes seven bits of a byte; the eighth says that there are more of them.
_MORE, _BITS = 0x80, 0x7F
_LONGEST_VARINT = 10

Header = tuple[str, bytes | None]


class Record(NamedTuple):
    """One record, with the fields that aiokafka's consumer asks for. `timestamp` is in milliseconds since the epoch."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]
    checksum: None = None


class _FaultError(ValueError):
    """What is wrong with a record or a batch; the message goes to the operator."""


class Batches:
    """The batches of one fetch from one partition; stands where aiokafka has its `MemoryRecords`."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0
        self._spent = 0

    def size_in_bytes(self) -> int:
        """Return how many bytes were fetched."""
        return len(self._raw)

    def has_next(self) -> bool:
        """Return whether a whole batch follows, and there is room for it."""
        return self._spent < ENOUGH and self._end() is not None

    def next_batch(self) -> Any:
        """Return the next batch: aiokafka's, where that reads all of it, the fastest way by far; or ours."""
        end = self._end()
        if end is None:
            return None
        raw, self._at = self._raw[self._at : end], end
        return _plain(raw) or Batch(memoryview(raw), self._spend)

    def _end(self) -> int | None:
        """Return where the next batch ends; None if it is cut off: it comes whole with the next fetch."""
        if len(self._raw) - self._at < _FRAME.size:
            return None
        _, length = _FRAME.unpack_from(self._raw, self._at)
        end = self._at + _FRAME.size + int(length)
        return end if length >= 0 and end <= len(self._raw) else None

    def _spend(self, cost: int) -> None:
        self._spent += cost


class PlainBatch:
    """A batch that aiokafka reads all of, and has read: an iterator over its records, as aiokafka's own are."""

    def __init__(self, batch: Any, records: Sequence[Any]) -> None:
        self.base_offset = batch.base_offset
        self.next_offset = batch.next_offset
        self.producer_id = batch.producer_id
        self.is_control_batch = batch.is_control_batch
        self.is_transactional = batch.is_transactional
        self._records = iter(records)

    def __iter__(self) -> Iterator[Any]:
        return self._records

    def __next__(self) -> Any:
        return next(self._records)

    def validate_crc(self) -> bool:
        """Return True: that was looked at before anything was read."""
        return True


class Batch:
    """One batch; an iterator over its records, as aiokafka's own batches are.

    Nothing is unpacked before the first record is asked for: batches of aborted transactions never are.
    """

    def __init__(self, raw: memoryview, spend: Callable[[int], None]) -> None:
        self._raw = raw
        self._spend = spend
        self._headers_left = MAX_HEADERS
        self.base_offset: int = _FRAME.unpack_from(raw)[0]
        # Also of a batch that is not to be believed, for where it ends: the broker keeps account of offsets by it.
        header = _HEADER.unpack_from(raw, _HEADER_AT) if _has_header(raw) else _NO_HEADER
        self._attributes, delta, self._first_time, self._last_time, self.producer_id, _, _, self._count = header
        self._fault = _fault_of(raw, self._count, delta + 1)
        self._last_offset = self.base_offset + max(delta, 0)
        self.next_offset = self._last_offset + 1
        self.is_control_batch = bool(self._attributes & _CONTROL) and self._fault is None
        self.is_transactional = bool(self._attributes & _TRANSACTIONAL) and self._fault is None
        #: Compaction takes records out and leaves the offsets of the others as they are.
        self._compacted = self._count != delta + 1
        self._records = self._iterate()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        return next(self._records)

    def validate_crc(self) -> bool:
        """Return True: a batch whose checksum is wrong comes out as a record that says so."""
        return True

    def _iterate(self) -> Iterator[Record]:
        if self._fault is not None:
            yield self._rest(self.base_offset, self._fault)
            return
        try:
            data, whole = unpack(self._attributes & _CODEC, bytes(self._raw[_RECORDS_AT:]), MAX_UNPACKED_BYTES)
        except UnpackError as exc:
            yield self._rest(self.base_offset, str(exc))
            return
        self._spend(len(data) + self._count * _RECORD_COST)
        quick = self._quickly(data) if whole else None
        if quick is not None:
            yield from quick
            return
        end, following = 0, self.base_offset
        for _ in range(self._count):
            try:
                start, end = _extent(data, end)
            except _FaultError as exc:
                why = str(exc) if whole else f"it unpacks to more than {MAX_UNPACKED_BYTES} bytes"
                yield self._rest(following, why)
                return
            record = self._record(data[start:end], following)
            yield record
            following = record.offset + 1
            if following > self._last_offset:
                return

    def _quickly(self, data: bytes) -> Sequence[Any] | None:
        """Return all records as aiokafka reads them, in a fraction of the time; None if there is anything odd."""
        if len(data) > MAX_VALUE_BYTES:
            return None
        header = bytearray(self._raw[:_RECORDS_AT])
        header[_CODEC_AT] &= ~_CODEC
        return _as_aiokafka_reads(DefaultRecordBatch(bytes(header) + data))

    def _record(self, data: bytes, following: int) -> Record:
        """Return the record whose bytes are `data`, and which stands at `following` or, after compaction, later."""
        offset, time = following, self._first_time
        key: bytes | None = None
        value: bytes | None = None
        headers: tuple[Header, ...] = ()
        try:
            time_delta, at = _varint(data, 1)  # after its attributes, of which there are none
            time += time_delta
            delta, at = _varint(data, at)
            claimed = self.base_offset + delta
            if self._compacted and following < claimed <= self._last_offset:
                offset = claimed
            key, at = _bytes(data, at)
            value, at = _bytes(data, at)
            headers = self._headers(data, at)
            wrong = None if claimed == offset else f"its offset is {offset}, and it claims to be at {claimed}"
        except IndexError:
            wrong = "it is cut off"
        except _FaultError as exc:
            wrong = str(exc)
        if wrong is not None:
            reason = f"the record cannot be read: {wrong}. Have its writer send it again, as Kafka's protocol has it"
            value = Unreadable(reason, value)
        if value is not None and len(value) > MAX_VALUE_BYTES:
            value = Unreadable(f"the record's value has {len(value)} bytes, and {MAX_VALUE_BYTES} are taken: send less")
        if self._attributes & _BROKER_TIME:
            time = self._last_time
        return Record(offset, time, int(bool(self._attributes & _BROKER_TIME)), key, value, headers)

    def _headers(self, data: bytes, at: int) -> tuple[Header, ...]:
        """Return the headers at `at`, which are what a record ends with."""
        count, at = _varint(data, at)
        if not 0 <= count <= self._headers_left:
            raise _FaultError(f"it has {count} headers, and up to {MAX_HEADERS} in a whole batch are read")
        self._headers_left -= count
        headers = []
        for _ in range(count):
            name, at = _bytes(data, at)
            value, at = _bytes(data, at)
            headers.append((_header_name(name), value))
        if at != len(data):
            raise _FaultError("it is longer than what is in it")
        return tuple(headers)

    def _rest(self, first: int, why: str) -> Record:
        """Return what stands for all that cannot be read from offset `first` to the batch's end."""
        last = self._last_offset
        which = f"the record at offset {last}" if first >= last else f"the records at offsets {first} to {last}"
        reason = f"{which} came in a batch that cannot be read: {why}. Have the writer send again what was in it"
        return Record(last, self._first_time, 0, None, Unreadable(reason), ())


_NO_HEADER = (0, 0, -1, -1, -1, -1, -1, 0)


def _plain(raw: bytes) -> PlainBatch | None:
    """Return a batch that is not packed, undamaged, and has nothing in it that aiokafka does not read; else None."""
    if len(raw) < _RECORDS_AT or len(raw) > MAX_VALUE_BYTES or raw[_FORMAT_AT] != _FORMAT or raw[_CODEC_AT] & _CODEC:
        return None
    batch = DefaultRecordBatch(raw)
    records = _as_aiokafka_reads(batch) if batch.validate_crc() else None
    return None if records is None else PlainBatch(batch, records)


def _as_aiokafka_reads(batch: Any) -> Sequence[Any] | None:
    """Return all records of a batch of aiokafka's, or None if it raises, or their offsets or headers are odd."""
    try:
        records: list[Any] = list(batch)
    except Exception:  # noqa: BLE001 - what it raises at bytes that make no sense is anything
        return None
    first: int = batch.base_offset
    offsets = [record.offset for record in records]
    # Compaction takes records out and leaves the offsets of the others as they are.
    if len(records) == batch.last_offset_delta + 1:
        if offsets != list(range(first, first + len(offsets))):
            return None
    elif any(one <= before for one, before in zip(offsets, [first - 1, *offsets], strict=False)):
        return None
    if batch.last_offset_delta < 0 or (offsets and offsets[-1] >= batch.next_offset):
        return None
    return records if sum([len(record.headers) for record in records]) <= MAX_HEADERS else None


def _has_header(raw: memoryview) -> bool:
    return len(raw) >= _RECORDS_AT and _GUARD.unpack_from(raw, _FRAME.size)[1] == _FORMAT


def _fault_of(raw: memoryview, count: int, offsets: int) -> str | None:
    """Return what is wrong with a batch as a whole, before anything in it is believed."""
    if not _has_header(raw):
        return f"it is not in message format {_FORMAT}"
    if calc_crc32c(bytes(raw[_HEADER_AT:])) != _GUARD.unpack_from(raw, _FRAME.size)[2]:
        return "its checksum is not that of its content"
    if not 0 <= count <= offsets or (count == 0 and len(raw) > _RECORDS_AT):
        return f"its header speaks of {count} records and of {offsets} offsets"
    if count > MAX_RECORDS:
        return f"it has {count} records, and {MAX_RECORDS} are taken"
    return None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at`, zigzag-encoded, and where it ends; IndexError says that it does not."""
    byte = data[at]
    if byte < _MORE:
        return (byte >> 1) ^ -(byte & 1), at + 1
    number, shift = byte & _BITS, 7
    for following in range(at + 1, at + _LONGEST_VARINT):
        byte = data[following]
        number |= (byte & _BITS) << shift
        if byte < _MORE:
            return (number >> 1) ^ -(number & 1), following + 1
        shift += 7
    raise _FaultError("a number in it has no end")


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Return where the record whose length is at `at` starts and ends."""
    try:
        length, start = _varint(data, at)
    except IndexError:
        raise _FaultError("a record is missing") from None
    if length < 0 or start + length > len(data):
        raise _FaultError("the length of a record is wrong")
    return start, start + length


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Return the bytes that follow their length at `at`, None for a negative one, and where they end."""
    length, at = _varint(data, at)
    if length < 0:
        return None, at
    end = at + length
    if end > len(data):
        raise IndexError
    return data[at:end], end


def _header_name(name: bytes | None) -> str:
    if name is None:
        raise _FaultError("one of its headers has no name")
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise _FaultError("the name of one of its headers is not UTF-8") from None
