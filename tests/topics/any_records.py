"""Any record of a model, as Hypothesis draws them, and what writers get wrong."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from topics.records import Record

#: Beyond 2**53 some parsers round; turngate does not, and neither does this test.
_NUMBERS = st.integers(0, 2**62)

Path = tuple[str | int, ...]

#: What stands in the place of a value, or beside it: other types, other spellings, and what is just outside.
WRONG: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 1.0, 1.5, -0.5, 2**40),
    *("", "x", "1", "-1", "true", "a/b", "a\nb", "a\n", "x" * 200, "x" * 201, "\N{GRINNING FACE}" * 200),
    *("text", "turn", "cancel", "version", "deployment", "completed", "image", "stream", "skip"),
    *([], ["x"], [None], {}, {"id": "u"}, {"type": "text"}, [{"type": "text", "text": "x"}], [{"text": "x"}]),
)


def records(model: type[Record]) -> st.SearchStrategy[Record]:
    """Return a strategy for valid records of a model; each optional field is left out half of the time."""
    return st.builds(model.model_validate, _fields(model))


def _fields(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    must = {name: _of(field) for name, field in model.model_fields.items() if field.is_required()}
    may = {name: _of(field) for name, field in model.model_fields.items() if not field.is_required()}
    return st.fixed_dictionaries(must, optional=may)


def _of(field: FieldInfo) -> st.SearchStrategy[Any]:
    return _values(field.annotation, tuple(field.metadata))


def _values(kind: Any, limits: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin is Annotated:
            return _values(arguments[0], (*limits, *arguments[1:]))
        case origin if origin is Literal:
            return st.sampled_from(arguments)
        case origin if origin in {Union, types.UnionType}:
            return st.one_of([_values(one, limits) for one in arguments])
        case origin if origin is tuple:
            return st.lists(_values(arguments[0], ()), min_size=_least(limits), max_size=3)
        case origin if origin is dict:
            return st.dictionaries(st.text(max_size=3), _NUMBERS | st.text(max_size=3), max_size=2)
    if kind is type(None):
        return st.none()
    if kind is bool:
        return st.booleans()
    if kind is int:
        return _NUMBERS
    if kind is float:
        return st.floats(0.001, 1e12) | st.integers(1, 10**9)
    if kind is str:
        return st.text("ab:\u00e9\U0001f600 ", min_size=1, max_size=9) if limits else st.text(max_size=6)
    assert issubclass(kind, BaseModel), kind
    return _members(kind)


def _members(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a model that is in another one: what tells members of a union apart is always there."""
    tags = {name: st.just(model.model_fields[name].default) for name in ("type", "kind") if _is_tag(model, name)}
    return _fields(model).flatmap(
        lambda drawn: st.fixed_dictionaries({**{k: st.just(v) for k, v in drawn.items()}, **tags})
    )


def _is_tag(model: type[BaseModel], name: str) -> bool:
    field = model.model_fields.get(name)
    return field is not None and get_origin(field.annotation) is Literal and not field.is_required()


def _least(limits: tuple[Any, ...]) -> int:
    return max((getattr(limit, "min_length", 0) or 0 for limit in limits), default=0)


def places(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the path of every value within a JSON value, the fields of objects and the members of lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield (*at, step)
        yield from places(one, (*at, step))


def changed(value: Any, path: Path, *, put: Any = ..., drop: bool = False) -> Any:
    """Return a JSON value with another value at `path`, or without what is there."""
    step, *rest = path
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[step] = changed(copy[step], tuple(rest), put=put, drop=drop)
    elif drop:
        del copy[step]
    else:
        copy[step] = put
    return copy
