"""API keys: who a caller is, told by a key of which only a hash is kept.

Keys are random (256 bits), so that a plain SHA-256 of one is as hard to turn back as the key is to guess. The file has a
table for each:

    [keys.website]
    sha256 = "…"
    tenant = "acme"
    user = "u-17"        # optional: every turn is this user's, whatever the caller says
    operator = true      # optional: may see what models wrote, where TURNGATE_GATEWAY_FRAMES is `show`
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from topics.ids import Id

_MARK = "tg_"
_BYTES = 32
#: No key is longer; what is, is not looked at.
_MAX_LENGTH = 200
#: The key file is looked at for changes so often, in seconds.
_RELOAD_S = 2.0
_NAME = r"^[A-Za-z0-9_-]{1,64}$"

KeyName = Annotated[str, StringConstraints(pattern=_NAME)]


class KeysError(Exception):
    """The key file cannot be used: says what is wrong with it, and shows nothing of it."""


class KeySettings(BaseModel):
    """What is kept of a key: its hash, whose it is, and the user whose turns it makes (None: the caller says).

    An `operator`'s key may see what models wrote, where the gateway shows it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    tenant: Id = "default"
    user: Id | None = None
    operator: bool = False

    def as_written(self) -> dict[str, object]:
        """Return the entry as it can be read again."""
        return self.model_dump(mode="json", exclude_none=True, exclude=None if self.operator else {"operator"})


@dataclass(frozen=True, slots=True)
class Caller:
    """Who speaks: the name of the key, its tenant, its user where the key is bound to one, and whether it is an operator."""

    name: str
    tenant: str
    user: str | None = None
    operator: bool = False


_FILE: TypeAdapter[dict[str, dict[KeyName, KeySettings]]] = TypeAdapter(dict[str, dict[KeyName, KeySettings]])


def new_key() -> str:
    """Return a new key: 256 random bits, spelt so that it can go into a header or a shell."""
    return _MARK + secrets.token_urlsafe(_BYTES)


def hash_of(key: str) -> str:
    """Return what is kept of `key`."""
    return hashlib.sha256(key.encode()).hexdigest()


def read_keys(path: Path) -> dict[str, KeySettings]:
    """Return the keys in a file by name.

    Raises:
        KeysError: it cannot be read, or is no key file.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        tables = _FILE.validate_python(data)
    except OSError as error:
        raise KeysError(f"the key file cannot be read ({error.strerror}): see TURNGATE_GATEWAY_KEYS_FILE") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValidationError):
        tables = {"": {}}
    if set(tables) - {"keys"}:
        raise KeysError(
            "the key file is no table `keys` of keys, each with sha256 and tenant: `turngate keys create` writes one"
        )
    return tables.get("keys", {})


class Keys:
    """The keys in force: those of the settings, and those of a file that may change at any time.

    `clock` tells the time in seconds. Constructing it raises `KeysError` for a file that cannot be used; one that becomes
    unusable later leaves the keys as they were, and `fault` says why.
    """

    def __init__(self, fixed: Mapping[str, KeySettings], path: Path | None, clock: Callable[[], float]) -> None:
        self._fixed = dict(fixed)
        self._path = path
        self._clock = clock
        self._looked_at = clock()
        self._changed_at = self._stamp()
        self._keys = self._fixed | (read_keys(path) if path is not None else {})
        self.fault: str | None = None

    def __bool__(self) -> bool:
        return bool(self._keys)

    def caller(self, key: str) -> Caller | None:
        """Return whose key this is, or None; how long that takes does not depend on how much of a key is right."""
        self._refresh()
        if len(key) > _MAX_LENGTH:
            return None
        given = hash_of(key)
        found: Caller | None = None
        for name, kept in self._keys.items():
            if hmac.compare_digest(given, kept.sha256):
                found = Caller(name, kept.tenant, kept.user, kept.operator)
        return found

    def _refresh(self) -> None:
        now = self._clock()
        if self._path is None or now - self._looked_at < _RELOAD_S:
            return
        self._looked_at = now
        stamp = self._stamp()
        if stamp == self._changed_at:
            return
        self._changed_at = stamp
        try:
            self._keys = self._fixed | read_keys(self._path)
            self.fault = None
        except KeysError as error:
            self.fault = str(error)

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat() if self._path is not None else None
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if found is not None else None
