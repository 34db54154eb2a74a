"""Schemas say what the codec does: they accept what it writes, and nothing that it refuses."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from tests.topics.any_records import WRONG, changed, places, records
from topics import codec, schemas
from topics.errors import WireError
from topics.names import BY_NAME, TOPICS, Topic
from topics.records import Record

#: Every record of every topic, by names.
CARRIED = [(topic.name, name) for topic in TOPICS for name in schemas.records_of(topic)]


@lru_cache
def validator(topic: str) -> Draft202012Validator:
    """Return what checks a topic's records."""
    return Draft202012Validator(schemas.topic_schema(BY_NAME[topic]))


def accepted(data: object, topic: Topic, *, strictly: bool = False) -> bool:
    """Return whether the codec takes a record; `strictly` without reading one type as another."""
    raw = codec.dump(data)
    try:
        if strictly:
            topic.shape.validate_json(raw, strict=True)
        codec.decode(raw, topic.shape)
    except (WireError, ValidationError):
        return False
    return True


def any_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the JSON of a record as the codec writes it."""
    model = schemas.models()[name]
    assert issubclass(model, Record)
    return records(model).map(codec.encode).map(json.loads)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_they_are_schemas(topic: Topic) -> None:
    """Of the draft that they name, with every reference in the document itself."""
    document = schemas.topic_schema(topic)
    assert document["$schema"] == schemas.DRAFT
    Draft202012Validator.check_schema(document)
    assert set(schemas.references(document)) == set(document["$defs"])
    assert set(schemas.records_of(topic)) <= set(document["$defs"])


def test_the_bundle_has_them_all() -> None:
    """A topic's schema by the topic's name, a record's by the record's."""
    bundle = schemas.bundle()
    Draft202012Validator.check_schema(bundle)
    assert set(bundle["$defs"]) == {topic.name for topic in TOPICS} | set(schemas.definitions())


def test_every_field_is_explained() -> None:
    """In the record's own schema; what stands under the field in the class."""
    silent = [
        f"{name}.{field}"
        for name, definition in schemas.definitions().items()
        for field, schema in definition["properties"].items()
        if not schema.get("description")
    ]
    assert silent == [], "write what it means, in a text of its own, under the field in its class"


@pytest.mark.parametrize(("topic", "name"), CARRIED)
@settings(max_examples=25)
@given(data=st.data())
def test_what_the_codec_writes_is_valid(topic: str, name: str, data: st.DataObject) -> None:
    """Any record; on its topic and by itself."""
    record = data.draw(any_of(name))
    assert accepted(record, BY_NAME[topic])
    validator(topic).validate(record)
    Draft202012Validator(schemas.record_schema(name)).validate(record)
    validator(topic).validate({**record, "in_the_future": {"v": 2}})


@pytest.mark.parametrize(("topic", "name"), CARRIED)
@settings(max_examples=60)
@given(data=st.data())
def test_what_is_wrong_is_wrong_to_both(topic: str, name: str, data: st.DataObject) -> None:
    """A schema accepts nothing that the codec refuses, and refuses nothing but what the codec takes for something else.

    The codec reads the text "1" as the number, say: a schema tells writers to write the number.
    """
    record = data.draw(any_of(name))
    path = data.draw(st.sampled_from(sorted(places(record), key=str)))
    drop = data.draw(st.booleans())
    # Whether 1.0 and true are the version 1 is a matter of pydantic's version, and nobody writes them.
    values = [one for one in WRONG if path[-1] != "v" or one != 1]
    wrong = changed(record, path, put=None if drop else data.draw(st.sampled_from(values)), drop=drop)
    valid = validator(topic).is_valid(wrong)
    if valid:
        assert accepted(wrong, BY_NAME[topic])
    else:
        assert not accepted(wrong, BY_NAME[topic], strictly=True)


TURN = {"thread_id": "t", "turn_id": "1"}


@pytest.mark.parametrize(
    ("topic", "record", "valid"),
    [
        ("requests", {**TURN, "message": "hello"}, True),
        ("requests", {**TURN, "message": ""}, True),
        ("requests", {**TURN, "message": []}, False),
        ("requests", {**TURN, "message": [{"text": "hello"}]}, False),
        ("requests", {**TURN, "message": [{"type": "sound"}]}, False),
        ("requests", {**TURN}, False),
        ("requests", {**TURN, "type": "cancel"}, True),
        ("requests", {**TURN, "type": "nothing", "message": "hello"}, False),
        ("requests", {**TURN, "v": 2, "message": "hello"}, False),
        ("requests", {**TURN, "v": None, "message": "hello"}, False),
        ("requests", {**TURN, "v": True, "message": "hello"}, False),
        ("requests", {**TURN, "message": "hello", "deadline_s": 0}, False),
        ("requests", {**TURN, "message": "hello", "user": {"id": "u", "plan": "gold"}}, True),
        ("requests", {"thread_id": "a/b", "turn_id": "1", "message": "hello"}, False),
        ("requests", {"thread_id": "a\n", "turn_id": "1", "message": "hello"}, False),
        ("requests", {"thread_id": "Gespräch 7", "turn_id": "1", "message": "hello"}, True),
        ("frames", {**TURN}, False),
        ("frames", {**TURN, "seq": None}, True),
        ("frames", {**TURN, "seq": -1}, False),
        ("released", {**TURN, "text": "hello"}, False),
        ("released", {**TURN, "kind": "text"}, False),
        ("released", {**TURN, "kind": "reset"}, True),
        ("released", {**TURN, "kind": "sparkle"}, False),
        ("released", {**TURN, "kind": "completed", "length": 0}, False),
        ("released", {**TURN, "kind": "completed", "length": 0, "finish_reason": "stop"}, True),
        ("released", {**TURN, "kind": "blocked", "response": ""}, False),
        ("released", {**TURN, "kind": "rejected", "processor": "p", "error": "ModelFailedError"}, False),
        ("released", {**TURN, "kind": "failed", "error": "OutputRejectedError", "message": "m"}, False),
        ("released", {**TURN, "kind": "failed", "error": "ModelFailedError", "message": "m"}, True),
        ("deployments", {"kind": "output", "name": "p", "by": "me", "at": 1}, True),
        ("deployments", {"kind": "output", "name": "p", "by": "me", "at": 1, "type": "version"}, False),
        ("deployments", {"kind": "odd", "name": "p", "by": "me", "at": 1}, False),
        ("deployments", {"type": "promotion", "members": [{"name": "p"}], "by": "me", "at": 1}, False),
    ],
)
def test_examples(topic: str, record: dict[str, Any], *, valid: bool) -> None:
    """What each rule is about, one by one, as the codec sees it and as the schema does."""
    assert accepted(record, BY_NAME[topic]) is valid
    assert validator(topic).is_valid(record) is valid


def deep(levels: int) -> dict[str, Any]:
    """Return an object with so many more within."""
    return {"in": deep(levels - 1)} if levels else {}


@pytest.mark.parametrize(
    ("topic", "record", "by_codec", "why"),
    [
        ("frames", {**TURN, "seq": "1"}, True, "a number that is spelt as a text is read as one; write numbers"),
        ("frames", {**TURN, "seq": True}, True, "so are true and false where a number belongs"),
        (
            "usage",
            {**TURN, "id": "i", "agent": "a", "usage": {}, "outcome": "failed", "at": 1, "estimated": "yes"},
            True,
            "and words where true or false belongs",
        ),
        (
            "decisions",
            {**TURN, "phase": "pre", "processor": "p", "version": "1", "verdict": "pass", "at": "1.5"},
            True,
            "the same of numbers with a fraction",
        ),
        (
            "requests",
            {"thread_id": "\ud800", "turn_id": "1", "message": "hello"},
            False,
            "half of a surrogate pair is no character, but JSON Schema counts it as one",
        ),
        (
            "audit",
            {"action": "a", "key": "k", "by": "me", "at": 1, "record": deep(codec.MAX_DEPTH)},
            False,
            "JSON Schema cannot say how deeply a record may be nested, nor how large it may be",
        ),
    ],
)
def test_differences(topic: str, record: dict[str, Any], *, by_codec: bool, why: str) -> None:
    """All that the codec and the schema do not agree on, each with its reason."""
    raw = json.dumps(record).encode()
    try:
        codec.decode(raw, BY_NAME[topic].shape)
    except WireError:
        assert not by_codec, why
    else:
        assert by_codec, why
    assert validator(topic).is_valid(json.loads(raw)) is not by_codec, why
