"""Processors that are configured when they are deployed: a function from a checked configuration to a processor."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from processors.declaration import Declaration, Kind, Processor
from processors.declare import F, as_processor
from processors.digests import code_digest
from processors.errors import DeclarationError, DeploymentError

_CARRIED = "__turngate_factory__"
_DIGEST_CHARS = 12


@dataclass(frozen=True)
class Factory:
    """What makes processors of one `kind` and `name`: `make` takes a `config` and returns one, as a list would hold it."""

    kind: Kind
    name: str
    version: str
    config: type[BaseModel]
    make: Callable[[Any], object] = field(compare=False, repr=False)
    digest: str = ""

    def build(self, given: Mapping[str, Any] | None) -> Processor:
        """Return the processor that `given` configures, under the factory's name.

        Raises:
            DeploymentError: the configuration is not what the factory takes, or it made no processor of its kind. Names
                the fields, and no value.
        """
        called = f"{self.kind}/{self.name}@{self.version}"
        try:
            config = self.config.model_validate(given or {})
        except ValidationError as error:
            raise DeploymentError(f"{called}: config: {_faults(error)}") from None
        try:
            made = as_processor(self.make(config), self.kind)
        except DeclarationError as error:
            raise DeploymentError(f"{called}: {error}") from None
        except Exception as error:  # the operator's code: anything may come of it, and its message may quote the config
            raise DeploymentError(f"{called}: its factory failed with {type(error).__name__}: mend it") from error
        version = self.version if given is None else f"{self.version}+{digest_of_config(given)[:8]}"
        return replace(made, name=self.name, version=version, digest=self.digest_with(given))

    def digest_with(self, given: Mapping[str, Any] | None) -> str:
        """Return the digest of the code with this configuration."""
        return digest_with(self.digest, given)


def processor_factory(
    kind: Kind, name: str, *, config: type[BaseModel], version: str | None = None
) -> Callable[[F], F]:
    """Declare a function from a `config`, a pydantic model, to a processor of `kind`.

    It returns what a list of that kind could hold: a decorated function, or an object with a `process` method. The
    processor is called `name`, whatever it calls itself. `version` is by default a digest of the source.

    Raises:
        DeclarationError: an argument cannot be.
    """
    Declaration(kind=kind, name=name, version=version or "0")
    if not _is_model(config):
        raise DeclarationError(
            f"@processor_factory({name!r}): config must be a class derived from pydantic's BaseModel"
        )

    def declare(function: F) -> F:
        digest = code_digest(function)
        setattr(function, _CARRIED, Factory(kind, name, version or digest, config, function, digest))
        return function

    return declare


def carried_factory(member: object) -> Factory | None:
    """Return the factory that `processor_factory` has left on a function, if it has."""
    found = member if isinstance(member, Factory) else getattr(member, _CARRIED, None)
    return found if isinstance(found, Factory) else None


def digest_with(code: str, config: Mapping[str, Any] | None) -> str:
    """Return the digest of the code that has the digest `code`, with a configuration or without one."""
    return code if config is None else _digest(f"{code} {digest_of_config(config)}".encode())


def digest_of_config(config: Mapping[str, Any]) -> str:
    """Return a short digest of a configuration, whatever the order of its fields."""
    return _digest(orjson.dumps(config, option=orjson.OPT_SORT_KEYS))


def _is_model(given: object) -> bool:
    return inspect.isclass(given) and issubclass(given, BaseModel)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]


def _faults(error: ValidationError) -> str:
    """Return what is wrong, by field; values stay out of it, a secret may be among them."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}" for fault in faults)
