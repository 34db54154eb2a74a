"""The tables of `docs/wire.md`, made from the topics and the records; what stands between them is written by hand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from topics.names import DAY_S, SINGLE, TOPICS, Topic
from topics.records import Record
from topics.schemas import ID, Schema, fields_of, models, records_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

#: What one of them is called in a type column.
_PARTS = frozenset({"TextPart", "ImagePart", "FilePart"})
_OF_TOPICS = ("topic", "record", "key", "partitions", "cleanup", "who writes", "who may read")
_OF_FIELDS = ("field", "type", "default", "meaning")


def topic_table() -> list[str]:
    """Return the lines of the table of topics."""
    return _table(_OF_TOPICS, [_topic_row(topic) for topic in TOPICS])


def field_table(model: type[BaseModel]) -> list[str]:
    """Return the lines of the table of the fields that a model adds to its base's."""
    base = base_of(model)
    inherited = base.model_fields if base is not None else {}
    rows = [
        (
            f"`{name}`",
            _words(field, optional=not model.model_fields[name].is_required()),
            _default(model, name),
            _told(field),
        )
        for name, field in fields_of(model).items()
        if name not in inherited
    ]
    return _table(_OF_FIELDS, rows)


def base_of(model: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model whose fields `model` adds to, if there is one."""
    (base,) = model.__bases__
    return base if issubclass(base, Record) else None


def updated(page: str) -> str:
    """Return the page with its tables as they have to be.

    A table is replaced in the section that it is in: the topics' under `Topics`, each record's under its name. A record
    without a section gets one at the end, for somebody to write a sentence into.
    """
    wanted = {f"### `{name}`": field_table(model) for name, model in models().items()}
    wanted["## Topics"] = topic_table()
    lines = list(_with_tables(page.splitlines(), wanted))
    for name, model in models().items():
        if f"### `{name}`" not in lines:
            lines += ["", f"### `{name}`", "", _first_sentence(name, model), "", *field_table(model)]
    return "\n".join(lines) + "\n"


def _with_tables(lines: Sequence[str], wanted: dict[str, list[str]]) -> Iterator[str]:
    """Yield the lines with the first table of each section that has one in `wanted` replaced by that."""
    table: list[str] | None = None
    replacing = fenced = False
    for line in lines:
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            table = wanted.get(line)
        if line.startswith("|") and not fenced and (table is not None or replacing):
            if not replacing:
                yield from table or ()
            table, replacing = None, True
            continue
        replacing = False
        yield line


def _first_sentence(name: str, model: type[BaseModel]) -> str:
    where = [f"On `{topic.name}`." for topic in TOPICS if name in records_of(topic)]
    base = base_of(model)
    return " ".join([*where, f"Has the fields of `{base.__name__}`, and:" if base else "Its fields:"])


def _topic_row(topic: Topic) -> tuple[str, ...]:
    return (
        f"`{topic.name}`",
        ", ".join(f"`{name}`" for name in records_of(topic)),
        topic.key,
        "n" if topic.per_turn else str(SINGLE),
        "compact" if topic.retention_s is None else f"delete, {topic.retention_s // DAY_S} d",
        ", ".join(topic.writers),
        "workers" if topic.sensitive else "readers",
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [
        "|" + "|".join(cells) + "|" if cells[0] == "---" else re.sub(r" +", " ", f"| {' | '.join(cells)} |")
        for cells in lines
    ]


def _told(field: Schema) -> str:
    return str(field.get("description", "")).replace("|", "\\|")


def _default(model: type[BaseModel], name: str) -> str:
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    return f"`{json.dumps(field.get_default(call_default_factory=True))}`"


def _words(schema: Schema, *, optional: bool) -> str:
    """Return the type; that an optional field may be null goes without saying."""
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    choices: list[Schema] | None = schema.get("anyOf") or schema.get("oneOf")
    if choices is not None:
        kinds = [one for one in choices if one.get("type") != "null"]
        null = ["null"] if len(kinds) < len(choices) and not optional else []
        if {one.get("$ref", "").rpartition("/")[2] for one in kinds} == _PARTS:
            return " or ".join(["part", *null])
        return " or ".join([_words(one, optional=True) for one in kinds] + null)
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    return _simple(schema)


def _simple(schema: Schema) -> str:
    match schema.get("type"):
        case "array":
            least = f", at least {schema['minItems']}" if "minItems" in schema else ""
            return f"list of {_words(schema['items'], optional=True)}{least}"
        case "string" if schema.get("not") == ID["not"]:
            return "id"
        case "string" if "maxLength" in schema:
            return f"text of {schema['minLength']} to {schema['maxLength']}"
        case "string":
            return "text"
        case "integer" | "number" as kind:
            return f"{kind}{_limit(schema)}"
        case "boolean" | "object" as kind:
            return str(kind)
        case _:
            raise AssertionError(f"a type that there are no words for: {schema}")


def _limit(schema: Schema) -> str:
    if schema.get("minimum") == 0:
        return " ≥ 0"
    return " > 0" if schema.get("exclusiveMinimum") == 0 else ""
