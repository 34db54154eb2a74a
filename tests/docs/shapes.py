"""Wire models in the words of `docs/wire.md`: a type and a default for each field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel

from topics import content, records
from topics.ids import Id
from topics.records import Record

_PARTS = {name.__name__ for name in (content.TextPart, content.ImagePart, content.FilePart)}
_ID_PATTERN = next(one.pattern for one in get_args(Id) if hasattr(one, "pattern"))

Schema = Mapping[str, Any]


def models() -> dict[str, type[BaseModel]]:
    """Return every model that the wire knows, bases with fields included, by name."""
    found = {
        name: model
        for module in (content, records)
        for name, model in vars(module).items()
        if isinstance(model, type) and issubclass(model, BaseModel) and model.__module__ == module.__name__
    }
    return {name: model for name, model in found.items() if model.model_fields}


def base_of(model: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model whose fields `model` adds to, if there is one."""
    (base,) = model.__bases__
    return base if issubclass(base, Record) else None


def own_fields(model: type[BaseModel]) -> list[tuple[str, str, str]]:
    """Return name, type and default of the fields that `model` adds to its base's, in their order."""
    base = base_of(model)
    inherited = base.model_fields if base is not None else {}
    schema = model.model_json_schema()["properties"]
    return [
        (name, _words(schema[name], optional=not field.is_required()), _default(model, name))
        for name, field in model.model_fields.items()
        if name not in inherited
    ]


def _default(model: type[BaseModel], name: str) -> str:
    field = model.model_fields[name]
    return "required" if field.is_required() else json.dumps(field.get_default(call_default_factory=True))


def _words(schema: Schema, *, optional: bool) -> str:
    """Return the type; that an optional field may be null goes without saying."""
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    choices = schema.get("anyOf") or schema.get("oneOf")
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
            number = schema.get("minItems") or schema.get("minLength")  # pydantic writes either for a list
            least = f", at least {number}" if number else ""
            return f"list of {_words(schema['items'], optional=True)}{least}"
        case "string" if schema.get("pattern") == _ID_PATTERN:
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
            raise AssertionError(f"a type that docs/wire.md has no words for: {schema}")


def _limit(schema: Schema) -> Literal["", " ≥ 0", " > 0"]:
    if schema.get("minimum") == 0:
        return " ≥ 0"
    return " > 0" if schema.get("exclusiveMinimum") == 0 else ""
