"""Bytes to records and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tests.topics.frames import IDS, TURN, completed, text
from topics import codec
from topics.content import Message, Prompt, TextPart, ToolCall, ToolDefinition, Usage, User
from topics.errors import MalformedRecordError, UnreadableRecordError, UnsupportedVersionError, WireError
from topics.ids import TurnKey
from topics.names import MODEL_FRAME, RELEASED, REQUEST, TOPICS
from topics.records import (
    AuditRecord,
    CancelCall,
    CancelledFrame,
    CancelTurn,
    DeadLetter,
    Decision,
    Deployment,
    Erase,
    ModelError,
    ModelFrame,
    PromptRequest,
    Record,
    ToolCallDelta,
    ToolCallRequest,
    ToolResult,
    TurnRequest,
    UsageRecord,
    WorkerStatus,
)
from topics.unreadable import Unreadable

USAGE = Usage(prompt_tokens=3, completion_tokens=4, total_tokens=7)
#: One record of each topic, with as much in it as it can carry.
EXAMPLES: dict[str, Record] = {
    "requests": TurnRequest(
        **IDS,
        user=User.model_validate({"id": "u-1", "plan": {"name": "gold"}}),
        message=(TextPart(text="h\xe9"),),
        history=(Message(role="assistant", tool_calls=(ToolCall(id="c", name="f", arguments="{"),)),),
        tools=(ToolDefinition(name="f", parameters={"type": "object"}),),
        system="be brief",
        model="m",
        params={"temperature": 0.5},
        delivery="final",
        deadline_s=1.5,
        attributes={"any": [1, None, True]},
    ),
    "prompts": PromptRequest(
        **IDS, step=1, attempt=2, partition=3, prompt=Prompt(system="s", messages=(Message(role="user", content="hi"),))
    ),
    "frames": ModelFrame(
        **IDS,
        step=1,
        attempt=2,
        seq=0,
        text="a",
        reasoning="b",
        refusal="c",
        tool_call_delta=ToolCallDelta(index=1, id="x", name="f", arguments='{"a'),
        finish_reason="stop",
        usage=USAGE,
        error=ModelError(message="no", retryable=True),
    ),
    "cancels": CancelCall(**IDS, partition=0),
    "tool-calls": ToolCallRequest(**IDS, partition=0, call=ToolCall(id="c", name="f")),
    "tool-results": ToolResult(**IDS, tool_call_id="c", content=(TextPart(text="42"),)),
    "released": completed("reply", usage=USAGE, tool_calls=(ToolCall(id="c", name="f"),)),
    "usage": UsageRecord(**IDS, id="i", agent="a", usage=USAGE, outcome="completed", at=1.5),
    "decisions": Decision(**IDS, phase="output", processor="p", version="1", verdict="replace", changes=2, at=1.5),
    "deployments": Deployment(kind="output", name="p", version="1", digest="d", by="ada", at=1.5),
    "audit": AuditRecord(action="push", key="output/p@1", by="ada", at=1.5),
    "workers": WorkerStatus(worker="w", role="turns", started_at=1.0, seen_at=2.0, active=("p@1",)),
    "erasures": Erase(id="e", user_id="u-1", cancel_open=True, by="ada", at=1.5),
    "dead-letters": DeadLetter(
        id="d", origin_topic="t", origin_partition=1, origin_offset=2, error="E", reason="r", worker="w", at=1.5
    ),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
FIELDS = sorted({name for record in EXAMPLES.values() for name in type(record).model_fields})


def shape_of(name: str) -> TypeAdapter[Any]:
    """Return what checks the records of a topic."""
    return {topic.name: topic.shape for topic in TOPICS}[name]


@pytest.mark.parametrize("name", [topic.name for topic in TOPICS])
def test_a_record_is_read_back_as_it_was_written(name: str) -> None:
    """On every topic, and the same record is always the same bytes."""
    record = EXAMPLES[name]
    raw = codec.encode(record)
    back = codec.decode(raw, shape_of(name))
    assert back == record
    assert codec.encode(back) == raw
    assert json.loads(raw)["v"] == 1


@pytest.mark.parametrize("name", [topic.name for topic in TOPICS])
def test_fields_of_the_future_are_ignored(name: str) -> None:
    """At the top and in what is nested."""
    data = json.loads(codec.encode(EXAMPLES[name]))
    for nested in [data, *(value for value in data.values() if isinstance(value, dict))]:
        nested["from_the_future"] = {"x": 1}
    read = codec.decode(json.dumps(data).encode(), shape_of(name))
    if name != "requests":  # what an application says about a user is kept
        assert read == EXAMPLES[name]


@pytest.mark.parametrize("name", [topic.name for topic in TOPICS])
def test_a_newer_version_is_told_apart_from_a_broken_record(name: str) -> None:
    """To upgrade is the remedy of one only."""
    for version in (2, 0, "1", None, [1]):
        raw = json.dumps({**json.loads(codec.encode(EXAMPLES[name])), "v": version}).encode()
        with pytest.raises(UnsupportedVersionError, match="upgrade"):
            codec.decode(raw, shape_of(name))


def test_a_record_without_a_version_is_of_the_first() -> None:
    """As written by hand."""
    assert codec.decode(b'{"thread_id":"t","turn_id":"u","type":"cancel"}', REQUEST) == CancelTurn(
        thread_id="t", turn_id="u"
    )


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (None, "tombstone"),
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"a":"\xed\xa0\x80"}', "not UTF-8"),
        (b"[]", "JSON array"),
        (b'"x"', "JSON string"),
        (b"7", "JSON number"),
        (b"true", "JSON boolean"),
        (b"null", "JSON null"),
        (b'{"v":NaN}', "not JSON"),
        (b'{"thread_id":"t","turn_id":"u","message":"m","deadline_s":1e999}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"v":1' + b"0" * 10_000 + b"}", "not JSON"),
        (b"{}", "thread_id: missing"),
        (b'{"thread_id":"a/b","turn_id":"u","message":"m"}', "thread_id: string_pattern_mismatch"),
        (b'{"thread_id":"t","turn_id":"u","message":[]}', "message: too_short"),
        (b'{"thread_id":"t","turn_id":"u","message":"m","type":"other"}', "union_tag_invalid"),
        (b'{"thread_id":"t","turn_id":"u","message":"m","type":[]}', "union_tag_invalid"),
        (b'{"thread_id":"\\ud83d","turn_id":"u","message":"m"}', "thread_id: string_unicode"),
    ],
)
def test_a_broken_record_is_refused_with_its_fault(raw: bytes | None, what: str) -> None:
    """The fault is named."""
    with pytest.raises(MalformedRecordError, match=what):
        codec.decode(raw, REQUEST)


def nested(levels: int, value: str = "1") -> bytes:
    """Return a request that is nested so many levels deep, itself included."""
    attributes = '{"a":' * (levels - 1) + value + "}" * (levels - 1)
    return b'{"thread_id":"t","turn_id":"u","message":"m","attributes":%b}' % attributes.encode()


def test_what_could_not_be_written_again_is_not_read() -> None:
    """A request that breaks the journal would stop its partition at every restart."""
    deepest = codec.decode(nested(codec.MAX_DEPTH), REQUEST)
    assert codec.decode(codec.encode(deepest), REQUEST) == deepest
    with pytest.raises(MalformedRecordError, match="nested"):
        codec.decode(nested(codec.MAX_DEPTH + 1), REQUEST)
    with pytest.raises(MalformedRecordError, match="nested"):
        codec.decode(nested(800, "[[" + "[]," * 200 + "[]]]"), REQUEST)


def test_brackets_in_text_are_no_nesting() -> None:
    """People write programs."""
    words = "[{" * 1000
    raw = json.dumps({"thread_id": "t", "turn_id": "u", "message": words}).encode()
    request = codec.decode(raw, REQUEST)
    assert isinstance(request, TurnRequest)
    assert request.message == (TextPart(text=words),)


def test_a_refusal_never_quotes_what_it_refuses() -> None:
    """Neither values nor anything else that people wrote."""
    for field, value in (("agent", "my\nsecret"), ("delivery", "secret"), ("message", [{"type": "secret"}])):
        data = {"thread_id": "t", "turn_id": "u", "message": "secret", field: value}
        with pytest.raises(MalformedRecordError) as error:
            codec.decode(json.dumps(data).encode(), REQUEST)
        assert field in str(error.value)
        assert "secret" not in str(error.value)
        assert error.value.__cause__ is None
        assert error.value.__suppress_context__


def test_a_refusal_names_a_few_fields_and_counts_the_rest() -> None:
    """A record of a thousand faults does not fill the log."""
    data = {"thread_id": "t", "turn_id": "u", "message": [{"type": "text"}] * 1000}
    with pytest.raises(MalformedRecordError, match=r"\(and 995 more\)") as error:
        codec.decode(json.dumps(data).encode(), REQUEST)
    assert len(str(error.value)) < 500


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_a_wire_error(raw: bytes) -> None:
    """Nothing else is raised, on any topic."""
    for topic in TOPICS:
        try:
            codec.decode(raw, topic.shape)
        except WireError:
            continue
    assert codec.identify(raw) is None or isinstance(codec.identify(raw), TurnKey)


@given(st.sampled_from([topic.name for topic in TOPICS]), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_any_json_in_any_field_is_a_record_or_a_wire_error(name: str, changes: dict[str, Any]) -> None:
    """And what is accepted can be written again, and read again as the same."""
    raw = json.dumps({**json.loads(codec.encode(EXAMPLES[name])), **changes}).encode()
    try:
        record = codec.decode(raw, shape_of(name))
    except WireError:
        return
    again = codec.encode(record)
    assert codec.encode(codec.decode(again, shape_of(name))) == again


@given(st.text(st.characters()))
def test_released_text_is_always_utf8(words: str) -> None:
    """Lone surrogates, which JSON can spell, are gone when a record is read."""
    raw = json.dumps({**IDS, "kind": "text", "text": words}).encode()
    frame = codec.decode(raw, RELEASED)
    codec.encode(frame).decode()
    assert getattr(frame, "text", None) == words.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(st.text(st.characters()), st.text(st.characters()))
def test_a_model_frame_keeps_half_a_character_for_the_next_one(one: str, two: str) -> None:
    """Its raw text is passed on exactly, because the other half may be in the next frame."""
    for words in (one, two):
        frame = codec.decode(codec.encode(ModelFrame(**IDS, seq=0, text=words)), MODEL_FRAME)
        assert frame.text == words


def test_an_unreadable_record_may_still_say_whose_it_is() -> None:
    """So that the turn can be failed; if the ids themselves are bad, nobody can."""
    raw = json.dumps({**IDS, "message": 7}).encode()
    assert codec.identify(raw) == TURN
    assert codec.identify(b'{"thread_id":"t","turn_id":"u","v":99}') == TurnKey("default", "t", "u")
    for bad in (
        None,
        b"",
        b"[]",
        b'{"turn_id":"u"}',
        b'{"thread_id":7,"turn_id":"u"}',
        b'{"thread_id":"/","turn_id":"u"}',
    ):
        assert codec.identify(bad) is None


def test_empty_fields_are_left_out_and_falsy_ones_are_not() -> None:
    """Bytes on the wire are paid for; a step of 0 still has to be there."""
    data = json.loads(codec.encode(text(0, "")))
    assert data == {"v": 1, **IDS, "step": 0, "attempt": 0, "offset": 0, "kind": "text", "text": ""}
    assert "usage" not in json.loads(codec.encode(CancelledFrame(**IDS)))


def test_a_missing_sequence_number_is_not_the_same_as_none() -> None:
    """None reports an interrupted call and must survive the wire; a frame that just lacks its number is malformed."""
    interrupted = ModelFrame(thread_id="t", turn_id="u", seq=None)
    assert codec.decode(codec.encode(interrupted), MODEL_FRAME) == interrupted
    with pytest.raises(MalformedRecordError, match="seq: missing"):
        codec.decode(b'{"thread_id":"t","turn_id":"u"}', MODEL_FRAME)


def test_half_of_a_surrogate_pair_costs_its_escape_alone() -> None:
    """The characters beside it keep their size, so that a record cannot outgrow what it came in as."""
    raw = codec.dump({"text": "\u00e9" * 100 + "\ud83d"})
    assert len(raw) == len(b'{"text":""}') + 200 + len(b"\\ud83d")
    assert codec.load(raw) == {"text": "\u00e9" * 100 + "\ud83d"}


def test_numbers_are_read_alike_by_both_parsers() -> None:
    """Whether a record needs the lenient parser hangs on its texts; its numbers must not."""
    big = b"1" + b"0" * 30
    strict = codec.load(b'{"n":[' + big + b",18446744073709551615,-9223372036854775808,1.5]}")
    lenient = codec.load(b'{"n":[' + big + b',18446744073709551615,-9223372036854775808,1.5],"t":"\\ud800"}')
    assert lenient["n"] == strict["n"]
    assert [type(one) for one in lenient["n"]] == [type(one) for one in strict["n"]]


def test_an_unknown_version_is_not_repeated() -> None:
    """It is input, and the reason of a refusal quotes no input."""
    with pytest.raises(UnsupportedVersionError) as caught:
        codec.decode(b'{"v":4111111111111111}', REQUEST)
    assert "4111" not in str(caught.value)


def test_an_empty_finish_reason_finishes_nothing() -> None:
    """Some servers write one into every chunk."""
    frame = codec.decode(b'{"thread_id":"t","turn_id":"u","seq":0,"text":"x","finish_reason":""}', MODEL_FRAME)
    assert frame.finish_reason is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b'{"type":"cancel","v":99}', True),
        (b'{"message":"\\"cancel\\""}', False),
        (b'{"type":"turn","x":"cancel"}', False),
        (b'["cancel"]', False),
        (None, False),
    ],
)
def test_a_cancel_is_known_by_its_type(raw: bytes | None, expected: bool) -> None:
    """Also one that cannot be decoded."""
    assert codec.is_cancel(raw) is expected


def test_a_record_that_could_not_be_read_is_refused_with_its_reason_and_still_tells_its_turn() -> None:
    """Whatever its value would say by itself."""
    value = codec.encode(TurnRequest(**IDS, message=(TextPart(text="hi"),)))
    for content, turn in ((value, TURN), (None, None)):
        unreadable = Unreadable("the record is damaged: send it again", content)
        with pytest.raises(UnreadableRecordError, match="the record is damaged: send it again"):
            codec.decode(unreadable, REQUEST)
        assert codec.identify(unreadable) == turn


def test_the_reason_of_a_wrong_field_says_what_to_do() -> None:
    """Its reader is an operator, or a caller whose turn failed."""
    with pytest.raises(MalformedRecordError, match=r"correct these fields and send it again: turn.message"):
        codec.decode(codec.dump(IDS), REQUEST)
