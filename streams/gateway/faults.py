"""One shape for every error over HTTP, the one that OpenAI's clients know. None quotes what was sent.

{"error": {"message": …, "type": …, "param": …, "code": …}}
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from starlette.responses import JSONResponse, Response

from streams.gateway.limits import TooManyError
from topics.ids import ID_RULE

_MAX_FAULTS_NAMED = 5
_IDS = (("tenant",), ("thread_id",), ("turn_id",))
_NO_OBJECT = ("model_attributes_type", "model_type", "dict_type", "missing")
#: What the names of pydantic's faults mean to whoever has not heard them.
_ADVICE = {
    "extra_forbidden": "there is no such field",
    "json_invalid": "this is not JSON",
    "literal_error": "none of the values that can stand here: /docs lists them",
}


class ErrorBody(BaseModel):
    """What is wrong: `message` for people, `type` and `code` for programs, `param` is the field at fault."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorAnswer(BaseModel):
    """The body of every answer that is no success."""

    error: ErrorBody = Field(description="what is wrong and what to do")


class GatewayError(Exception):
    """A request cannot be answered; `status` is HTTP's, the rest as in the body."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The body of the answer."""
        return error_body(str(self), self.kind, param=self.param, code=self.code)

    def response(self) -> Response:
        """Return the answer that says so."""
        return JSONResponse(self.body, self.status, headers=self.headers)


def error_body(message: str, kind: str, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """Return the body of an error."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def too_many(error: TooManyError) -> GatewayError:
    """Return what a caller is told who asks for too much."""
    return GatewayError(
        HTTPStatus.TOO_MANY_REQUESTS,
        str(error),
        kind="rate_limit_error",
        code="rate_limit_exceeded",
        headers={"Retry-After": str(error.retry_after_s)},
    )


def invalid(error: ValidationError, status: int = HTTPStatus.UNPROCESSABLE_ENTITY) -> GatewayError:
    """Return what a caller is told whose request has the wrong shape: fields, and never what is in them."""
    return from_faults(error.errors(include_url=False, include_context=False, include_input=False), status)


def from_faults(faults: Any, status: int = HTTPStatus.UNPROCESSABLE_ENTITY) -> GatewayError:
    """Return the same of pydantic's list of faults."""
    places = [(_place(fault["loc"]) or "the body", _kind(fault)) for fault in faults]
    named = "; ".join(f"{place}: {kind}" for place, kind in places[:_MAX_FAULTS_NAMED])
    more = f" (and {len(places) - _MAX_FAULTS_NAMED} more)" if len(places) > _MAX_FAULTS_NAMED else ""
    param = _place(faults[0]["loc"]) or None if faults else None
    return GatewayError(
        status, f"correct these fields and send it again: {named}{more}", param=param, code="invalid_field"
    )


def _kind(fault: Any) -> str:
    """Return the kind of a fault, and how it should be where the kind alone does not say it."""
    if tuple(fault["loc"]) in {(), ("body",)} and fault["type"] in _NO_OBJECT:
        return f"{fault['type']} (a JSON object is wanted here, with the header Content-Type: application/json)"
    advice = (
        ID_RULE if fault["loc"][-1:] in _IDS and fault["type"].startswith("string_") else _ADVICE.get(fault["type"])
    )
    return f"{fault['type']} ({advice})" if advice else str(fault["type"])


def _place(loc: tuple[int | str, ...]) -> str:
    steps = [str(step) for step in loc if step not in {"body", "query", "path", "header"}]
    # A step may be a name that the caller made up.
    return ".".join(step if step.replace("-", "_").isidentifier() or step.isdecimal() else "?" for step in steps)[:200]
