"""The shapes of records as JSON Schema (draft 2020-12), made from the models that check them.

A schema says what a writer has to keep to. The codec takes a little more than that, such as a number that is spelt as a
text, and checks some things that JSON Schema cannot say; `tests/topics/test_schemas.py` lists both.
"""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import BaseModel, TypeAdapter, ValidationError

from topics import content, records
from topics.meanings import meanings
from topics.names import DAY_S, TOPICS, Topic
from topics.records import WIRE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Schema: TypeAlias = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_REF: Final = "#/$defs/"
#: What `Id` allows, in words that mean the same in every dialect of regular expressions: `$` does not.
ID: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "not": {"pattern": r"[/\x00-\x1f\x7f]"},
}


class UnknownRecordError(ValueError):
    """There is no such record, or no such topic."""


def models() -> Mapping[str, type[BaseModel]]:
    """Return every model that the wire knows, by name, in the order of the sources; bases only if they have fields."""
    found = {
        name: model
        for module in (records, content)
        for name, model in vars(module).items()
        if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == module.__name__
    }
    return {name: model for name, model in found.items() if model.model_fields}


def records_of(topic: Topic) -> Sequence[str]:
    """Return the names of the records that a topic carries, in their order."""
    shape, _ = _shapes()
    return tuple(_names_in(shape[topic.name]))


def definitions() -> Mapping[str, Schema]:
    """Return the schema of every record that is on a topic, and of what is in them, by name.

    They refer to each other as `#/$defs/Name`. Do not change them.
    """
    _, defs = _shapes()
    return defs


def fields_of(model: type[BaseModel]) -> Mapping[str, Schema]:
    """Return the schema of each field of a model, or of a base that is on no topic itself. Do not change them."""
    heirs = [one for name, one in models().items() if name in definitions() and issubclass(one, model)]
    fields = definitions()[model.__name__ if model in heirs else heirs[0].__name__]["properties"]
    return {name: fields[name] for name in model.model_fields}


def record_schema(name: str) -> Schema:
    """Return one record's schema as a document of its own.

    Raises:
        UnknownRecordError: there is no such record.
    """
    _, defs = _shapes()
    if name not in defs:
        raise UnknownRecordError(f"there is no record {name!r}{_nearest(name, defs)}")
    own = {key: value for key, value in defs[name].items() if key != "title"}
    return _document(name, name, own)


def topic_schema(topic: Topic) -> Schema:
    """Return the schema of all that may be a record's value on `topic`, as a document of its own."""
    shape, _ = _shapes()
    kept = "the last of each key is kept" if topic.retention_s is None else f"kept for {topic.retention_s // DAY_S} d"
    about = (
        f"Values of records on `{topic.name}`. Keyed by {topic.key}, {kept}, written by: {', '.join(topic.writers)}."
    )
    return _document(topic.name, f"Records on {topic.name}", {"description": about, **shape[topic.name]})


def bundle() -> Schema:
    """Return one document with the definition of every record, and under a topic's name of all that it carries."""
    shape, defs = _shapes()
    return {
        "$schema": DRAFT,
        "$id": _id("all"),
        "title": "Records of turngate",
        "description": "Definitions in lower case are topics without their prefix: what a record's value may be there.",
        "$defs": {**shape, **defs},
    }


def topic_called(name: str) -> Topic:
    """Return a topic by its name without the prefix.

    Raises:
        UnknownRecordError: there is no such topic.
    """
    by_name = {topic.name: topic for topic in TOPICS}
    if name not in by_name:
        raise UnknownRecordError(f"there is no topic {name!r}{_nearest(name, by_name)}")
    return by_name[name]


def references(schema: object) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to itself, in order, some of them more than once."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref":
                yield value.removeprefix(_REF)
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def _document(name: str, title: str, own: Schema) -> Schema:
    _, defs = _shapes()
    needed: dict[str, Schema] = {}
    waiting = list(references(own))
    while waiting:
        one = waiting.pop(0)
        if one not in needed:
            needed[one] = defs[one]
            waiting += references(defs[one])
    there = {"$defs": {one: needed[one] for one in sorted(needed)}} if needed else {}
    return {"$schema": DRAFT, "$id": _id(name), "title": title, **own, **there}


def _id(name: str) -> str:
    return f"urn:turngate:wire:{WIRE_VERSION}:{name}"


def _nearest(name: str, known: Mapping[str, object]) -> str:
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return f", did you mean {by_lower[near[0]]!r}?" if near else f": there are {', '.join(known)}"


# -- from pydantic's words to ours ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _shapes() -> tuple[Mapping[str, Schema], Mapping[str, Schema]]:
    """Return the schema of each topic's records, and the definitions that these refer to, sorted by name."""
    made, rest = TypeAdapter.json_schemas([(topic.name, "validation", topic.shape) for topic in TOPICS])
    defs: dict[str, Schema] = rest["$defs"]
    shapes = {topic.name: dict(made[topic.name, "validation"]) for topic in TOPICS}
    tags = set(_tags_that_must_be_there([shapes, defs]))
    for topic in TOPICS:
        tags.update(_tags_of_requests(topic, shapes[topic.name], defs))
    known = models()
    finished = {name: _finished(known[name], defs[name], tags) for name in sorted(defs)}
    return {name: _plain(shape) for name, shape in shapes.items()}, finished


def _tags_that_must_be_there(schema: object) -> Iterator[tuple[str, str]]:
    """Yield record and field wherever a field tells the members of a union from each other: none has a default there."""
    if isinstance(schema, dict):
        if isinstance(told := schema.get("discriminator"), dict):
            yield from ((name, told["propertyName"]) for name in _names_in(schema))
        for value in schema.values():
            yield from _tags_that_must_be_there(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _tags_that_must_be_there(value)


def _tags_of_requests(topic: Topic, shape: Schema, defs: Mapping[str, Schema]) -> Iterator[tuple[str, str]]:
    """Yield the same where a function tells the members apart: one of them is meant by a record without `type`."""
    if "oneOf" not in shape or "discriminator" in shape:
        return
    meant: int | str = ""
    try:
        topic.shape.validate_python({})
    except ValidationError as error:
        meant = error.errors()[0]["loc"][0]  # the member that was tried
    for name in _names_in(shape):
        if defs[name]["properties"]["type"]["const"] != meant:
            yield name, "type"


def _names_in(shape: Schema) -> list[str]:
    return list(dict.fromkeys(references(shape.get("oneOf", shape))))


def _finished(model: type[BaseModel], schema: Schema, tags: set[tuple[str, str]]) -> Schema:
    """Return a model's definition with the meaning of each field, and without what says nothing."""
    said = meanings(model)
    fields = {}
    for name, field in schema["properties"].items():
        # A null that stands for nothing is as good as no field: that it is the default says no more.
        shown = {key: value for key, value in _plain(field).items() if (key, value) != ("default", None)}
        fields[name] = {"description": said[name], **shown} if name in said else shown
    must = [name for name in fields if name in schema.get("required", ()) or (model.__name__, name) in tags]
    made = {"title": model.__name__, "description": _text(model), "type": "object", "properties": fields}
    return {**made, "required": must} if must else made


def _text(model: type[BaseModel]) -> str:
    """Return what the class says of itself, its lines joined to paragraphs."""
    paragraphs = re.split(r"\n\s*\n", (model.__doc__ or "").strip())
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _plain(schema: Any) -> Any:
    """Return a schema without titles of fields, and in words of JSON Schema alone."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "string" and "pattern" in schema and schema.get("maxLength") == ID["maxLength"]:
        return _in_order({**ID, **{key: value for key, value in schema.items() if key == "default"}})
    made = {}
    for key, value in schema.items():
        if key in {"default", "const", "enum"}:
            made[key] = value
        elif key not in {"title", "discriminator"}:
            made[key] = _plain(value)
    return _in_order(made)


#: Versions of pydantic have the same things to say in different words and orders; here they are always these.
_ORDER: Final = ("description", "type", "const", "enum", "default", "anyOf", "oneOf", "$ref", "items", "not")


def _in_order(schema: Schema) -> Schema:
    if schema.get("type") == "array" and "minLength" in schema:
        schema["minItems"] = schema.pop("minLength")
    if "const" in schema:
        schema.pop("enum", None)
    if schema.get("additionalProperties") is True:
        del schema["additionalProperties"]
    for limit in ("minimum", "exclusiveMinimum"):
        if limit in schema and schema[limit] == int(schema[limit]):
            schema[limit] = int(schema[limit])
    return {key: schema[key] for key in (*_ORDER, *sorted(set(schema) - set(_ORDER))) if key in schema}
