"""A table of records that should not be there: what is sent, and what has to become of it on each topic."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.topics.batches import GZIP, ZSTD, batch, record
from topics.ids import TurnKey
from topics.names import CANCELS, FRAMES, PROMPTS, REQUESTS, TOOL_CALLS, TOOL_RESULTS, Topic

#: A marker to look for wherever no content may be.
SECRET = "the-secret-in-the-input"  # noqa: S105 - a marker, as it says
#: Topics that workers read, and what a record needs on each of them to be in order.
FIELDS: Mapping[Topic, Mapping[str, Any]] = {
    REQUESTS: {"message": SECRET, "params": {"script": ["fine"]}},
    FRAMES: {"seq": 0, "text": SECRET},
    PROMPTS: {"partition": 0, "prompt": {"messages": [{"role": "user", "content": SECRET}]}},
    CANCELS: {"partition": 0},
    TOOL_CALLS: {"partition": 0, "call": {"id": "one", "name": SECRET}},
    TOOL_RESULTS: {"tool_call_id": "one", "content": SECRET},
}
#: Those whose records name their partition.
CALLS = (PROMPTS, CANCELS, TOOL_CALLS)
TOPICS = tuple(FIELDS)

MALFORMED, VERSION, UNREADABLE = "MalformedRecordError", "UnsupportedVersionError", "UnreadableRecordError"
TOO_LARGE, EXPIRED, WRONG, UNKNOWN = (
    "RecordTooLargeError",
    "ExpiredRequestError",
    "WrongPartitionError",
    "UnknownTurnError",
)
#: What may also become of a record: its turn is answered as any other, it fails visibly, or nobody minds it.
ANSWERED, FAILED, DROPPED = "answered", "failed", "dropped"

Value = Callable[[dict[str, Any]], bytes | None]


@dataclass(frozen=True)
class Poison:
    """A record, or a batch, that should not be there.

    `value` makes the value from the fields of a record that is in order; `becomes` says what it comes to, on each topic
    where that makes sense. `packed` is the compression of its batch, `time` its timestamp in milliseconds. One that is
    `alone` in its batch would take its neighbours with it. `brokers` names those that let it in.
    """

    name: str
    value: Value
    becomes: Mapping[Topic, str]
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    keyed: bool = True
    packed: int = 0
    time: int | None = None
    alone: bool = False
    brokers: tuple[str, ...] = ("embedded", "apache", "docker")
    record: Mapping[str, Any] = field(default_factory=dict)
    batch: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = None
    elsewhere: bool = False

    def in_batch(self, topic: Topic, turn: TurnKey, neighbours: Sequence[bytes] = ()) -> bytes:
        """Return a batch with the record between two neighbours, or without them."""
        key = turn.thread.encode()
        value = self.value(
            {"tenant": turn.tenant, "thread_id": turn.thread_id, "turn_id": turn.turn_id, **FIELDS[topic]}
        )
        place = 1 if neighbours else 0
        number = place if self.number is None else place + self.number
        bad = record(number, value, key if self.keyed else None, self.headers, **self.record)
        records = [record(0, neighbours[0], key), bad, record(2, neighbours[1], key)] if neighbours else [bad]
        now = round(time.time() * 1000)
        return batch(records, codec=self.packed, time=now if self.time is None else self.time, **self.batch)


def everywhere(error: str) -> Mapping[Topic, str]:
    """Return what is the same on every topic."""
    return dict.fromkeys(TOPICS, error)


def raw(value: bytes | None) -> Value:
    """Return a value that has nothing of the record in order."""
    return lambda _: value


def with_(**fields: Any) -> Value:
    """Return the record in order but for these fields; one that is `...` is left out."""
    return lambda good: json.dumps({name: one for name, one in {**good, **fields}.items() if one is not ...}).encode()


def spelt(more: str) -> Value:
    """Return the record in order with more JSON at its end."""
    return lambda good: (json.dumps(good)[:-1] + "," + more + "}").encode()


def padded(to: int) -> Value:
    """Return the record in order, made so many bytes long with blanks."""
    return lambda good: json.dumps(good).encode().ljust(to)


IN_ORDER = with_()
DEEP = 100_000
POISON = (
    *(
        Poison(name, raw(value), everywhere(MALFORMED))
        for name, value in {
            "a tombstone": None,
            "an empty value": b"",
            "blanks": b"   ",
            "no JSON": b"not json " + SECRET.encode(),
            "cut off JSON": b'{"turn_id":"' + SECRET.encode() + b'"',
            "an array": b'["' + SECRET.encode() + b'"]',
            "a string": b'"' + SECRET.encode() + b'"',
            "a number": b"1",
            "null": b"null",
            "a byte order mark": b"\xef\xbb\xbf{}",
            "UTF-16": SECRET.encode("utf-16"),
            "no UTF-8": b'{"text":"\xff\xfe' + SECRET.encode() + b'"}',
            "NUL bytes": bytes(100),
            "a hundred thousand levels": b"[" * DEEP,
            "a hundred thousand levels of objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
        }.items()
    ),
    *(
        Poison(f"v: {version!r}", with_(v=version), everywhere(VERSION))
        for version in (0, 2, -1, 1.5, "1", "", None, [1], {"v": 1})
    ),
    *(
        Poison(f"{name}: {shown}", with_(**{name: value}), everywhere(MALFORMED))
        for name in ("tenant", "thread_id", "turn_id")
        for shown, value in {
            "empty": "",
            "a slash": f"a/{SECRET}",
            "a control": f"a\n{SECRET}",
            "a delete": "a\x7fb",
            "too long": "x" * 201,
            "a number": 5,
            "null": None,
            "an object": {"id": SECRET},
            "half a surrogate pair": "a\ud800b",
        }.items()
    ),
    *(Poison(f"no {name}", with_(**{name: ...}), everywhere(MALFORMED)) for name in ("thread_id", "turn_id")),
    *(
        Poison(f"a field of {number}", spelt(f'"attributes":{{"x":{number}}}'), everywhere(MALFORMED))
        for number in ("NaN", "Infinity", "-Infinity", "1e999", "9" * 400)
    ),
    Poison("101 levels", spelt('"attributes":' + '{"a":' * 101 + "1" + "}" * 101), everywhere(MALFORMED)),
    Poison("an unknown type", with_(type="nonsense"), {REQUESTS: MALFORMED}),
    Poison("no message", with_(message=...), {REQUESTS: MALFORMED}),
    Poison("no parts", with_(message=[]), {REQUESTS: MALFORMED}),
    *(Poison(f"deadline_s: {s}", with_(deadline_s=s), {REQUESTS: MALFORMED}) for s in (0, -1, "soon")),
    Poison("no partition", with_(partition=...), dict.fromkeys(CALLS, MALFORMED)),
    Poison("a partition below 0", with_(partition=-1), dict.fromkeys(CALLS, MALFORMED)),
    Poison(
        "a partition that is not there", with_(partition=10**6), {PROMPTS: WRONG, TOOL_CALLS: WRONG, CANCELS: DROPPED}
    ),
    Poison("a call that is not known", IN_ORDER, {CANCELS: DROPPED, FRAMES: UNKNOWN, TOOL_RESULTS: UNKNOWN}),
    Poison("the id of a tool call without end", with_(call={"id": "x" * 10_000, "name": "n"}), {TOOL_CALLS: TOO_LARGE}),
    Poison("a tool call without its name", with_(call={"id": "x"}), {TOOL_CALLS: MALFORMED}),
    Poison("a result of no call", with_(tool_call_id=...), {TOOL_RESULTS: MALFORMED}),
    Poison("a frame number below 0", with_(seq=-1), {FRAMES: MALFORMED}),
    # -- how it is sent
    Poison("a large request", padded(900_000), {REQUESTS: TOO_LARGE}),
    Poison("a large frame", padded(950_000), {FRAMES: TOO_LARGE}),
    Poison("a header's name is not UTF-8", IN_ORDER, everywhere(UNREADABLE), headers=[(b"\xff\xfe", b"x")]),
    Poison(
        "the same, packed", IN_ORDER, everywhere(UNREADABLE), headers=[(b"ok", b""), (b"\xff\xfe", b"x")], packed=ZSTD
    ),
    Poison("more headers than are read", IN_ORDER, everywhere(UNREADABLE), headers=[(b"", b"")] * 150_000),
    Poison("an offset from out of nowhere", IN_ORDER, everywhere(UNREADABLE), number=1_000_000),
    Poison("the offset of its neighbour", IN_ORDER, everywhere(UNREADABLE), number=-1),
    Poison("a value that unpacks to 3 MB", padded(3_000_000), everywhere(UNREADABLE), packed=GZIP),
    Poison("a value that unpacks to 200 MB", padded(200_000_000), everywhere(UNREADABLE), packed=GZIP, alone=True),
    Poison("the same of zstd", padded(200_000_000), everywhere(UNREADABLE), packed=ZSTD, alone=True),
    *(
        Poison(name, IN_ORDER, everywhere(UNREADABLE), alone=True, brokers=("embedded",), record=one, batch=all_)
        for name, one, all_ in (
            ("a checksum that is wrong", {}, {"checksum": 7}),
            ("nonsense for gzip data", {}, {"attributes": GZIP, "data": b"nonsense"}),
            ("nonsense for zstd data", {}, {"attributes": ZSTD, "data": b"nonsense"}),
            ("a record that is too short", {"length": 3}, {}),
            ("a record that is too long", {"length": 3000}, {}),
            ("a header too many", {"header_count": 1}, {}),
            ("more records than offsets", {}, {"count": 2}),
            ("message format 1", {}, {"form": 1}),
        )
    ),
    Poison("in a wrong partition", IN_ORDER, {REQUESTS: WRONG}, elsewhere=True),
    Poison("the year 1970", IN_ORDER, {REQUESTS: EXPIRED}, time=0, alone=True),
    # -- odd, and in order all the same
    Poison("nothing odd", IN_ORDER, {REQUESTS: ANSWERED}),
    Poison("no v", with_(v=...), {REQUESTS: ANSWERED}),
    Poison("no key", IN_ORDER, {REQUESTS: ANSWERED}, keyed=False),
    Poison("no timestamp", IN_ORDER, {REQUESTS: ANSWERED}, time=-1),
    Poison("the far future", IN_ORDER, {REQUESTS: ANSWERED}, time=2**62, brokers=("embedded",)),
    Poison("fields that nobody knows", with_(nonsense=[SECRET]), {REQUESTS: ANSWERED}),
    Poison("a field twice", spelt('"agent":"a","agent":"b"'), {REQUESTS: ANSWERED}),
    Poison("ninety levels", spelt('"attributes":' + '{"a":' * 90 + "1" + "}" * 90), {REQUESTS: ANSWERED}),
    Poison("a number of thirty digits", spelt(f'"attributes":{{"x":{"9" * 30}}}'), {REQUESTS: ANSWERED}),
    Poison("half a surrogate pair in the message", with_(message="a\ud800b"), {REQUESTS: ANSWERED}),
    Poison("a deadline at the end of time", with_(deadline_s=1e308), {REQUESTS: ANSWERED}),
    Poison("a deadline that is over", with_(deadline_s=1e-300), {REQUESTS: FAILED}),
    *(
        Poison(name, IN_ORDER, {REQUESTS: ANSWERED}, headers=headers)
        for name, headers in (
            ("a thousand headers", [(b"name", b"value")] * 1000),
            ("a header of half a megabyte", [(b"name", b"x" * 500_000)]),
            ("headers without name, value or UTF-8 in it", [(b"", b""), (b"null", None), (b"bytes", b"\xff\xfe")]),
        )
    ),
)
