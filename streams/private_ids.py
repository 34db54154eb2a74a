"""Ids as logs have them: hashed, because whoever names threads and users may name them after people.

A log line is given `Private(turn)` in place of the id. It reads as a keyed hash, so that an operator who knows an id finds
its lines with the help of `turngate hash-id`, and nobody else learns an id from a log. The key, `TURNGATE_LOG_ID_SALT`,
is put in by the filter that `streams.process.configure_logging` gives to every handler; where that is missing, the hash is
that of an empty key: never the id itself.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from hashlib import blake2b

from topics.ids import ThreadKey, TurnKey

_BYTES = 6
#: The longest key that the hash takes.
_KEY_BYTES = 64


def hashed(text: str, salt: str = "") -> str:
    """Return the hash of an id, 12 hexadecimal digits."""
    key = salt.encode(errors="surrogatepass")
    if len(key) > _KEY_BYTES:
        key = blake2b(key).digest()
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_BYTES, key=key).hexdigest()


def hashed_user(tenant: str, user_id: str, salt: str = "") -> str:
    """Return the hash of a user's id: that of a tenant's other users, or of another tenant's same one, is another."""
    return hashed(f"{tenant}//{user_id}", salt)


@dataclass(frozen=True, slots=True)
class Private:
    """A thread or a turn in a log line: `<hash of the thread>`, and for a turn `/<hash of the turn>` after it."""

    of: ThreadKey | TurnKey

    def salted(self, salt: str) -> str:
        """Return what stands in the log where the hash's key is `salt`."""
        if isinstance(self.of, ThreadKey):
            return hashed(f"{self.of.tenant}/{self.of.thread_id}", salt)
        return f"{Private(self.of.thread).salted(salt)}/{hashed(str(self.of), salt)}"

    def __str__(self) -> str:
        return self.salted("")


class SaltedIds(logging.Filter):
    """Puts the key into the hashes of every record that passes."""

    def __init__(self, salt: str) -> None:
        super().__init__()
        self._salt = salt

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record pass, its ids hashed."""
        if isinstance(record.args, tuple) and any(isinstance(one, Private) for one in record.args):
            record.args = tuple(one.salted(self._salt) if isinstance(one, Private) else one for one in record.args)
        return True
