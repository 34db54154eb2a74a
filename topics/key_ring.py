"""The keys that values are sealed with, read from a folder with a file for each: a mounted secret, for example."""

from __future__ import annotations

import base64
import binascii
import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from topics import envelope
from topics.errors import KeyRingError

#: The file in the folder of keys that holds the id of the one to seal with.
ACTIVE_FILE = "active"
_HEX = re.compile(r"[0-9A-Fa-f]{64}")
#: Ciphers that are kept ready: each process that writes has one at a time.
_CIPHERS = 1024


class Key:
    """One key, of 32 bytes, with its id. It is never shown: neither its text nor its `repr` has it.

    Raises:
        KeyRingError: the library that seals is not installed.
    """

    __slots__ = ("_aesgcm", "_ciphers", "_invalid", "_secret", "check", "id")

    def __init__(self, key_id: str, secret: bytes) -> None:
        self.id = key_id
        self._secret = secret
        self.check = envelope.check_of(secret)
        self._ciphers: OrderedDict[bytes, Any] = OrderedDict()
        try:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - the same
        except ImportError:
            raise KeyRingError("values are sealed with a library: pip install 'turngate[sealing]'") from None
        self._aesgcm, self._invalid = AESGCM, InvalidTag

    def __repr__(self) -> str:
        return f"Key({self.id!r})"

    def encrypt(self, salt: bytes, nonce: bytes, value: bytes, vouched: bytes) -> bytes:
        """Return `value` encrypted, and the tag, which vouches for `vouched` too."""
        sealed: bytes = self._cipher(salt).encrypt(nonce, value, vouched)
        return sealed

    def decrypt(self, salt: bytes, nonce: bytes, sealed: bytes, vouched: bytes) -> bytes | None:
        """Return what `encrypt` was given; None if anything of it is another."""
        try:
            value: bytes = self._cipher(salt).decrypt(nonce, sealed, vouched)
        except self._invalid:
            return None
        return value

    def _cipher(self, salt: bytes) -> Any:
        cipher = self._ciphers.get(salt)
        if cipher is None:
            cipher = self._ciphers[salt] = self._aesgcm(envelope.record_key(self._secret, salt))
            if len(self._ciphers) > _CIPHERS:
                self._ciphers.popitem(last=False)
        return cipher


class KeyRing:
    """Keys by id, and which of them is `active`: values are sealed with that one, and opened with whichever they name.

    Raises:
        KeyRingError: the active key is not there, or a key is not usable.
    """

    def __init__(self, keys: Mapping[str, bytes], active: str) -> None:
        for key_id, secret in keys.items():
            if not envelope.KEY_ID.fullmatch(key_id):
                raise KeyRingError(f"key {key_id!r}: an id has 1 to 64 of the characters A-Z a-z 0-9 . _ -")
            if len(secret) != envelope.KEY_BYTES:
                raise KeyRingError(f"key {key_id}: it has {len(secret)} bytes, and a key has {envelope.KEY_BYTES}")
        self.keys: Mapping[str, Key] = {key_id: Key(key_id, secret) for key_id, secret in keys.items()}
        if active not in self.keys:
            raise KeyRingError(f"the active key is to be {active!r}, and there are {_named(self.keys)}: add it first")
        self.active = self.keys[active]

    def __repr__(self) -> str:
        return f"KeyRing({sorted(self.keys)}, active={self.active.id!r})"

    @classmethod
    def read(cls, folder: Path | str, active: str | None = None) -> KeyRing:
        """Return the keys in `folder`: each file is one, its name the id, its text 32 bytes in base64 or hexadecimal.

        `active` names the key to seal with; without it a file called `active` does, and a single key needs neither.
        Folders and files whose names begin with a dot are passed over: mounted secrets have some.

        Raises:
            KeyRingError: the folder or a file cannot be read, a file holds no key, or none is said to be active.
        """
        place = Path(folder)
        try:
            files = sorted(one for one in place.iterdir() if not one.name.startswith(".") and one.is_file())
            texts = {one.name: one.read_text(encoding="ascii").strip() for one in files}
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "a file in it is no text"
            raise KeyRingError(
                f"the folder of keys {place} cannot be read ({why}): it holds a file for each key"
            ) from None
        named = texts.pop(ACTIVE_FILE, None)
        keys = {name: _secret(place / name, text) for name, text in texts.items()}
        if not keys:
            raise KeyRingError(f"there is no key in {place}: make one with `turngate key-ring add`")
        chosen = active or named or (next(iter(keys)) if len(keys) == 1 else None)
        if chosen is None:
            raise KeyRingError(
                f"{place} has the keys {_named(keys)}, and nothing says which one to seal with: put its id into the file "
                f"{ACTIVE_FILE} there, or into TURNGATE_KEY_RING_ACTIVE"
            )
        return cls(keys, chosen)


def _secret(file: Path, text: str) -> bytes:
    try:
        secret = bytes.fromhex(text) if _HEX.fullmatch(text) else base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        secret = b""
    if len(secret) != envelope.KEY_BYTES or not envelope.KEY_ID.fullmatch(file.name):
        raise KeyRingError(
            f"{file} holds no key: write {envelope.KEY_BYTES} random bytes in base64 or hexadecimal into a file that is "
            "named with the key's id, of the characters A-Z a-z 0-9 . _ -"
        )
    return secret


def _named(keys: Mapping[str, object]) -> str:
    return ", ".join(sorted(keys)) or "none"
