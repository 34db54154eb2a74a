"""Models made of values that are valid already, at a fraction of what checking them again costs."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

#: What a model consists of, set without the ways around: this is done for every frame, several times.
_new = object.__new__
_set_fields = BaseModel.__dict__["__dict__"].__set__
_set_said = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


def like(model: M, **changes: Any) -> M:
    """Return a copy of `model` with `changes`, by the fields' names; nothing is checked.

    For what a stream writes with every frame, of values that come from other models. It is what `model_copy` does, without
    what that does for models unlike ours: those with private attributes, extra fields or copy hooks.
    """
    return made(type(model), model.__dict__ | changes, model.__pydantic_fields_set__ | changes.keys())


def made(shape: type[M], fields: dict[str, Any], said: set[str]) -> M:
    """Return a model of this shape with `fields`, all of them and in the shape's order, as if those `said` had been given.

    It keeps both, which nobody else may change.
    """
    model = _new(shape)
    _set_fields(model, fields)
    _set_said(model, said)
    _set_extra(model, None)
    _set_private(model, None)
    return model
