"""How a sealed value is laid out: a header that names the key, then AES-256-GCM; told from JSON by its first byte.

    offset  bytes  what
    0       4      00 54 47 01: a zero byte, which no JSON text has, "TG", and the layout's version
    4       1      k, the length of the key's id
    5       k      the key's id, in ASCII
    5+k     4      the key's check value: tells a wrong key from an altered record
    9+k     16     salt: the record's own key is HKDF-SHA-256(key, salt, "turngate seal")
    25+k    12     nonce
    37+k    n+16   the value, n bytes long, encrypted, and the tag of 16 bytes

What the tag vouches for beside the value is everything before the nonce, the full name of the topic, a zero byte, and the
record's key: so a record opens nowhere but where it was written to.

Pure: keys, salts and nonces are passed in.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import NamedTuple

MAGIC = b"\x00TG"
VERSION = 1
PREFIX = MAGIC + bytes([VERSION])
KEY_BYTES = 32
CHECK_BYTES = 4
SALT_BYTES = 16
NONCE_BYTES = 12
TAG_BYTES = 16
#: A key's id: what a file may be called anywhere, and a field of a Kubernetes secret.
KEY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_SEAL = b"turngate seal"
_CHECK = b"turngate key check"
_ID_AT = len(PREFIX) + 1


class Header(NamedTuple):
    """What stands before the encrypted bytes. `raw` is what the tag vouches for of it; `body_at` is where they begin."""

    key_id: str
    check: bytes
    salt: bytes
    nonce: bytes
    raw: bytes
    body_at: int


def header(key_id: str, check: bytes, salt: bytes) -> bytes:
    """Return what a sealed value begins with, up to its nonce."""
    name = key_id.encode("ascii")
    return b"".join((PREFIX, bytes([len(name)]), name, check, salt))


def parse(value: bytes) -> Header | None:
    """Return the header of a value that begins as a sealed one does; None if the rest of it is cut off or makes no sense."""
    if len(value) <= _ID_AT or value[: len(PREFIX)] != PREFIX:
        return None
    check_at = _ID_AT + value[len(PREFIX)]
    salt_at = check_at + CHECK_BYTES
    nonce_at = salt_at + SALT_BYTES
    body_at = nonce_at + NONCE_BYTES
    if len(value) < body_at + TAG_BYTES:
        return None
    try:
        key_id = value[_ID_AT:check_at].decode("ascii")
    except UnicodeDecodeError:
        return None
    if not KEY_ID.fullmatch(key_id):
        return None
    check, salt, nonce = value[check_at:salt_at], value[salt_at:nonce_at], value[nonce_at:body_at]
    return Header(key_id, check, salt, nonce, value[:nonce_at], body_at)


def is_sealed(value: bytes | None) -> bool:
    """Return whether a value begins as sealed ones do, of whatever version."""
    return value is not None and value[: len(MAGIC)] == MAGIC


def vouched(raw: bytes, topic: str, key: bytes | None) -> bytes:
    """Return what the tag vouches for beside the value; topics' names have no zero byte, so the parts cannot shift."""
    return b"".join((raw, topic.encode(), b"\x00", key or b""))


def record_key(key: bytes, salt: bytes) -> bytes:
    """Return the key that values with this `salt` are encrypted with."""
    return _hkdf(key, salt, _SEAL)


def check_of(key: bytes) -> bytes:
    """Return the check value of a key: says nothing about it but whether another one is the same."""
    return _hkdf(key, b"", _CHECK)[:CHECK_BYTES]


def _hkdf(key: bytes, salt: bytes, info: bytes) -> bytes:
    """Return 32 bytes as RFC 5869 derives them with SHA-256: a single round gives that many."""
    pseudorandom = hmac.digest(salt or bytes(hashlib.sha256().digest_size), key, "sha256")
    return hmac.digest(pseudorandom, info + b"\x01", "sha256")
