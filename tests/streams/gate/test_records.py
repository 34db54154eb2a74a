"""Journal records and the entries in them: what is written comes back, and what cannot be read stops the worker."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streams.gate import entries
from streams.gate.records import JOURNAL_VERSION, JournalError, JournalRecord, NewerJournalError
from tests.streams.gate.play import IDS, START, frame, report, request
from topics.content import (
    FilePart,
    ImagePart,
    Message,
    Prompt,
    TextPart,
    ToolCall,
    ToolDefinition,
    Usage,
    User,
)
from topics.records import ModelError, ToolCallDelta

PARTS = (TextPart(text="look"), ImagePart(url="https://files.example/cat.png"), FilePart(name="a.pdf", data="AA=="))
CALL = ToolCall(id="c1", name="lookup", arguments='{"id":7}')
HISTORY = (
    Message(role="user", content=PARTS),
    Message(role="assistant", tool_calls=(CALL,)),
    Message(role="tool", tool_call_id="c1", content="owner: N. N."),
)
FULL_REQUEST = request(
    agent="sales",
    channel="web",
    user=User.model_validate({"id": "u1", "tier": "gold", "phone": None}),
    message=PARTS,
    history=HISTORY,
    tools=(ToolDefinition(name="lookup", parameters={"type": "object", "x": None}),),
    system="Be brief.",
    model="m1",
    params={"temperature": 0.1, "stop": None, "nested": [{"a": None}]},
    delivery="final",
    deadline_s=12.5,
    attributes={"a": None, "b": [1, {"c": False}]},
)
REPORTS = (report("guard"), report("redact", "replace"))
PAID = (replace(report("guard"), usage=Usage(total_tokens=3), model="guard-8b"),)

#: One of each kind with nothing said that need not be, and one with everything.
ENTRIES: list[entries.AnyEntry] = [
    entries.Accepted(request=request(), partition=0, order=0, deadline_at=1.0),
    entries.Accepted(request=FULL_REQUEST, partition=3, order=9, deadline_at=1.5, readable=False),
    entries.Accepted(request=request(), partition=0, order=0, deadline_at=1.0, trace="00-aa-bb-01 a=b"),
    entries.Started(),
    entries.Started(
        pre=True,
        input=True,
        chain=("output/redact@1", "output/guard@2"),
        pin="abc",
        governance=True,
        rules=True,
        post=True,
        carry=True,
        persona=entries.Persona(
            system="Be kind.",
            model="m2",
            params={"stop": None, "n": [None]},
            tools=(ToolDefinition(name="lookup", parameters={"type": "object", "x": None}),),
            timeouts={"lookup": 2.5},
            max_steps=3,
        ),
    ),
    entries.Rechained(),
    entries.Rechained(
        pre=True, input=True, chain=("output/redact@2",), governance=True, rules=True, post=True, pin="def"
    ),
    entries.Governed(),
    entries.Governed(message=PARTS, metadata={"a": 1}, blocked_by="rule", response="No.", reports=REPORTS),
    entries.PreProcessed(),
    entries.PreProcessed(
        message=PARTS, metadata={"seen": None, "n": [1.5]}, blocked_by="hours", response="Closed.", reports=REPORTS
    ),
    entries.InputProcessed(prompt=Prompt()),
    entries.InputProcessed(step=2, prompt=Prompt(system="s", messages=HISTORY), reports=REPORTS),
    entries.Llm(),
    entries.Llm(
        step=1,
        attempt=2,
        seq=5,
        text="word \U0001f600",
        half=0xD83C,
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=1),
        refusal="no",
        tool_calls=(ToolCallDelta(index=0, id="c1"), ToolCallDelta(index=1, arguments="{")),
        early=(frame(7, "late \ud83c"), frame(8, error=ModelError(type="X", retryable=True))),
        live=6,
        release="out",
        settled=True,
        rejected=entries.Rejection(processor="guard", reason="policy"),
        failed=entries.CallFailure(error="X", retry=True, retry_at=12.5, fallback="m3"),
        reports=REPORTS,
        calls=(CALL,),
    ),
    entries.Retried(attempt=0),
    entries.Retried(step=2, attempt=3),
    entries.OutputProcessed(),
    entries.OutputProcessed(
        step=1,
        tail="rest",
        tool_calls=(CALL,),
        final=False,
        rejected=entries.Rejection(processor="guard", reason=""),
        reports=REPORTS,
        calls=(CALL,),
    ),
    entries.CallsGoverned(),
    entries.CallsGoverned(step=1, denied=(entries.ToolReturn(call_id="c1", error="no"),), reports=REPORTS),
    entries.ToolsReturned(results=()),
    entries.ToolsReturned(
        step=3, results=(entries.ToolReturn(call_id="c1", content=PARTS), entries.ToolReturn(call_id="c2", content="x"))
    ),
    entries.PostProcessed(),
    entries.PostProcessed(
        text="final",
        late=True,
        metadata={"a": [1]},
        blocked_by="footer",
        response="No.",
        rejected=entries.Rejection(processor="guard", reason=""),
        reports=REPORTS,
    ),
    entries.Spent(reports=()),
    entries.Spent(step=1, reports=PAID),
    entries.Failed(error="TurnTimeoutError", message="too slow"),
    entries.Failed(error="ProcessorFailedError", phase="output", processor="guard", message="m", reports=REPORTS),
    entries.Cancelled(),
    entries.Closed(outcome="completed", partition=3, offset=12),
]
NAMES = [f"{entry.checkpoint}-{'full' if i % 2 else 'bare'}" for i, entry in enumerate(ENTRIES)]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_entry_comes_back_as_it_was(entry: entries.AnyEntry) -> None:
    """Down to the fields that are None, the types of message parts, and halves of characters."""
    record = JournalRecord(n=4, at=1234.5, confirmed=2, entry=entry)
    back = JournalRecord.decode(4, record.encode())
    assert back == record
    assert back.encode() == record.encode()


def test_every_shape_of_entry_is_tested() -> None:
    """A new one must be added here."""
    assert {type(entry) for entry in ENTRIES} == set(entries.SHAPES.values())


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_records_are_utf8(entry: entries.AnyEntry) -> None:
    """Whatever is in them."""
    JournalRecord(n=4, at=1.0, confirmed=2, entry=entry).encode().decode()


def test_a_requests_user_comes_back_with_all_the_caller_said() -> None:
    """Other fields than `id` are the application's; being None is saying something."""
    record = JournalRecord(0, START, -1, ENTRIES[1])
    back = JournalRecord.decode(0, record.encode()).entry
    assert isinstance(back, entries.Accepted)
    assert back.request.user is not None
    assert back.request.user.model_dump() == {"id": "u1", "tier": "gold", "phone": None}


def test_the_bytes_of_a_streamed_record() -> None:
    """The one record there are many of is as short as this, and stays the same from release to release."""
    entry = entries.Llm(step=0, seq=3, text='a "word"', live=8)
    assert JournalRecord(n=2, at=1000.25, confirmed=1, entry=entry).encode() == (
        b'{"v":1,"k":"llm:0","at":1000.25,"c":1,"d":{"q":3,"t":"a \\"word\\"","l":8}}'
    )


def test_the_bytes_of_a_record_with_everything() -> None:
    """The spelling of each field is part of the journal's format."""
    entry = next(one for one in ENTRIES if isinstance(one, entries.Llm) and one.text)
    failed = entries.CallFailure(error="X", retry=True)
    entry = entry.model_copy(update={"early": (), "half": None, "reports": (), "calls": (), "failed": failed})
    assert JournalRecord(n=2, at=1.0, confirmed=1, entry=entry).encode().decode() == (
        '{"v":1,"k":"llm:1","at":1.0,"c":1,"d":{"a":2,"q":5,"t":"word \U0001f600","f":"tool_calls",'
        '"u":{"prompt_tokens":1,"completion_tokens":0,"total_tokens":0},"x":"no",'
        '"d":[{"index":0,"id":"c1"},{"index":1,"arguments":"{"}],"l":6,"r":"out","z":true,'
        '"j":{"processor":"guard","reason":"policy"},"y":{"error":"X","retry":true}}}'
    )


def test_an_entry_that_says_nothing_has_no_body() -> None:
    """Only its name."""
    assert orjson.loads(JournalRecord(1, 5.0, -1, entries.Cancelled()).encode()) == {
        "v": 1,
        "k": "cancelled",
        "at": 5.0,
        "c": -1,
    }


@pytest.mark.parametrize(
    ("entry", "checkpoint"),
    [
        (entries.PreProcessed(), "process:pre"),
        (entries.InputProcessed(step=3, prompt=Prompt()), "process:input:3"),
        (entries.Llm(step=12), "llm:12"),
        (entries.OutputProcessed(step=1), "process:output:1"),
        (entries.Closed(outcome="failed", partition=0, offset=0), "closed"),
    ],
)
def test_checkpoints_are_named_for_what_happened_and_their_step(entry: entries.AnyEntry, checkpoint: str) -> None:
    """As the journal spells them, and nowhere else is the step written."""
    data = orjson.loads(JournalRecord(1, 1.0, -1, entry).encode())
    assert data["k"] == entry.checkpoint == checkpoint
    assert "step" not in data.get("d", {})


@pytest.mark.parametrize("version", [JOURNAL_VERSION + 1, 99])
def test_a_newer_version_is_not_read(version: int) -> None:
    """Going on without what it says would skip it."""
    with pytest.raises(NewerJournalError, match=f"record 5 has version {version}.*start the newer turngate"):
        JournalRecord.decode(5, orjson.dumps({"v": version, "k": "something new", "at": 1.0, "c": -1}))


def changed(**fields: Any) -> bytes:
    """Return a record whose fields are as given, or missing if they are `...`."""
    data = {"v": 1, "k": "llm:0", "at": 1.0, "c": -1, "d": {"t": "x"}, **fields}
    return json.dumps({name: value for name, value in data.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"not json",
        b"null",
        b"[1,2]",
        b'"text"',
        changed(v=...),
        changed(v="1"),
        changed(k=...),
        changed(k=7),
        changed(k="nothing known"),
        changed(k="llm:x"),
        changed(k="accepted:0"),
        changed(at=...),
        changed(c=...),
        changed(d=[1]),
        changed(d={"t": 5}),
        changed(d={"unknown": 1}),
        changed(k="accepted", d={"request": {"thread_id": "t"}}),
    ],
)
def test_what_is_no_record_is_refused(value: bytes) -> None:
    """With one error, whatever is wrong about it."""
    with pytest.raises(JournalError, match="journal record 3 cannot be read"):
        JournalRecord.decode(3, value)


HIDDEN = "fk-live-0123456789"


@pytest.mark.parametrize(
    "value",
    [
        HIDDEN.encode(),
        changed(d={"t": [HIDDEN]}),
        changed(d={HIDDEN: 1}),
        changed(k=HIDDEN),
        changed(k="accepted", d={"request": HIDDEN}),
        changed(k="accepted", d={"request": {**IDS, "message": {"text": HIDDEN}}, "partition": HIDDEN}),
    ],
)
def test_an_error_quotes_nothing_of_the_record(value: bytes) -> None:
    """It ends up in a log; neither it nor what it came from may tell."""
    with pytest.raises(JournalError) as caught:
        JournalRecord.decode(3, value)
    assert HIDDEN not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert caught.value.__suppress_context__


def test_entries_take_no_field_they_do_not_know_and_quote_no_value() -> None:
    """A misspelt field would be lost without a word."""
    with pytest.raises(ValidationError) as caught:
        entries.Llm.model_validate({"text": HIDDEN, "txt": HIDDEN})
    assert HIDDEN not in str(caught.value)
    with pytest.raises(ValidationError) as caught:
        entries.Rejection.model_validate({"processor": "p", "reason": [HIDDEN]})
    assert HIDDEN not in str(caught.value)


@given(st.text(), st.floats(0, 2e9), st.integers(-1, 1_000))
def test_any_text_comes_back(text: str, at: float, confirmed: int) -> None:
    """Control characters, separators, halves of characters."""
    record = JournalRecord(1, at, confirmed, entries.Llm(seq=1, text=text, release=text[::-1]))
    assert JournalRecord.decode(1, record.encode()) == record
