"""Bytes to records and back: the one place that knows how records are spelt on the wire."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from topics.errors import MalformedRecordError, UnreadableRecordError, UnsupportedVersionError
from topics.ids import Id, TurnKey
from topics.records import WIRE_VERSION, Record, TextFrame
from topics.unreadable import Unreadable

if TYPE_CHECKING:
    from collections.abc import Mapping

R = TypeVar("R")

_ID: TypeAdapter[str] = TypeAdapter(Id)
#: Records of which no field is ever None and each is a number or a text: JSON spells them as they are.
_WRITTEN_AS_THEY_ARE = frozenset({TextFrame})
_MAX_FAULTS_NAMED = 5
#: How deeply a record may be nested. It can be read at any depth, but not be written again (to the journal, say).
MAX_DEPTH = 100
#: No integer of 64 bits has more digits and a sign.
_LONGEST_INTEGER = 21


def encode(record: Record) -> bytes:
    """Return `record` as JSON in UTF-8; the same record always gives the same bytes.

    Fields that are None are left out, but for those that the record spells out.
    """
    if type(record) in _WRITTEN_AS_THEY_ARE:
        return dump(record.__dict__)
    data = record.model_dump(mode="json", exclude_none=True)
    for name in record.spelt_out:
        data.setdefault(name, None)
    return dump(data)


def dump(data: Any) -> bytes:
    """Return JSON in UTF-8. Half of a surrogate pair, which has no UTF-8, is spelt as an escape; nothing else is."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")


def load(raw: bytes) -> Any:
    """Return what the JSON in `raw` says, halves of surrogate pairs included.

    Raises:
        MalformedRecordError: not UTF-8, or not JSON.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_leniently(raw)


def decode(raw: bytes | None, shape: TypeAdapter[R]) -> R:
    """Return the record that `raw` holds, checked against `shape`.

    Raises:
        MalformedRecordError: a tombstone, not UTF-8, not JSON, not an object, or fields missing or of the wrong type.
        UnreadableRecordError: the record could not be read as Kafka stores it.
        UnsupportedVersionError: written by a newer turngate.
    """
    if isinstance(raw, Unreadable):
        raise UnreadableRecordError(raw.reason)
    data = parse(raw)
    version = data.get("v", WIRE_VERSION)
    if version != WIRE_VERSION or version is True:  # which is equal to 1
        msg = f"the record's version is not known here (this build reads version {WIRE_VERSION}): upgrade it first"
        raise UnsupportedVersionError(msg)
    try:
        # Not by the shape's own `validate_python`: a quarter of the time goes into what that does beside this.
        record: R = shape.validator.validate_python(data)
    except ValidationError as exc:
        raise MalformedRecordError(_faults(exc)) from None
    return record


def parse(raw: bytes | None) -> dict[str, Any]:
    """Return the JSON object that `raw` holds, its fields unchecked.

    Raises:
        MalformedRecordError: a tombstone, not UTF-8, not JSON, not an object, or nested too deeply.
    """
    if raw is None:
        msg = "the record has no value (a tombstone): publish a JSON object"
        raise MalformedRecordError(msg)
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        data = _parse_leniently(raw)
    if not isinstance(data, dict):
        msg = f"the record is a JSON {_json_type(data)}: publish a JSON object"
        raise MalformedRecordError(msg)
    # What is short cannot be nested deeply: every level takes two bytes.
    if len(raw) > 2 * MAX_DEPTH and raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _is_deeper_than(MAX_DEPTH, data):
        msg = f"the record is nested more than {MAX_DEPTH} levels deep: flatten it"
        raise MalformedRecordError(msg)
    return data


def identify(raw: bytes | None) -> TurnKey | None:
    """Return the turn that an undecodable record says it is about, or None if it does not say so credibly."""
    try:
        data = parse(raw)
        ids = [_ID.validate_python(data.get(name, default)) for name, default in _IDENTITY]
    except (MalformedRecordError, ValidationError):
        return None
    return TurnKey(*ids)


def is_cancel(raw: bytes | None) -> bool:
    """Return whether a record, also one that cannot be decoded, is meant to end a turn."""
    try:
        return raw is not None and b'"cancel"' in raw and parse(raw).get("type") == "cancel"
    except MalformedRecordError:
        return False


_IDENTITY = (("tenant", "default"), ("thread_id", None), ("turn_id", None))


def _parse_leniently(raw: bytes) -> Any:
    """Parse what orjson refuses and Python's json takes: escapes that spell half of a surrogate pair."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        msg = "the record is not UTF-8: publish JSON in UTF-8"
        raise MalformedRecordError(msg) from None
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_as_orjson_reads)
    except (ValueError, RecursionError):
        msg = "the record is not JSON: publish a JSON object"
        raise MalformedRecordError(msg) from None


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _as_orjson_reads(digits: str) -> float:
    """Return an integer of up to 64 bits, or the nearest float: what is journaled is read back by either parser."""
    value = int(digits) if len(digits) <= _LONGEST_INTEGER else None
    return value if value is not None and -(2**63) <= value < 2**64 else _finite(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(digits)
    return value


def _is_deeper_than(limit: int, data: object) -> bool:
    level: list[Any] = [data]
    for _ in range(limit):
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return False
    return True


def _faults(exc: ValidationError) -> str:
    """Name the fields at fault and the kind of fault, never a value: values are people's words."""
    faults = [
        f"{'.'.join(str(step) for step in fault['loc']) or 'record'}: {fault['type']}"
        for fault in exc.errors(include_url=False, include_context=False, include_input=False)
    ]
    more = len(faults) - _MAX_FAULTS_NAMED
    named = "; ".join(faults[:_MAX_FAULTS_NAMED])
    return f"correct these fields and send it again: {named}" + (f" (and {more} more)" if more > 0 else "")


def _json_type(value: object) -> str:
    names: Mapping[type, str] = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")
