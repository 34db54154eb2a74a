"""What is encrypted at rest, decided in one place by a record's topic: sealed as it is sent, opened as it is fetched.

Every Kafka client of turngate's asks this (`topics.reading` for consumers, `topics.producing` for producers), below
whatever encodes and decodes: so no code that handles records can forget it, and none sees a sealed value.

Three things can be wrong with a value, and each must be told from the others:

- It is sealed with a key that is not here, or with another one of the same id. Nothing is wrong with the record: this
  process must be given the key. It stops with a `SealedRecordError` before the record is acknowledged, so that nothing is
  lost, and nothing goes to the dead letters over and over. An id listed as `lost` is the operator's word that nobody has it.
- The key is right and the record is not: it was altered, or moved here from another topic or key. This is a damaged record
  as others are: it gets an `Unreadable` value, and goes to the dead letters.
- It is not sealed, and should be. It is `Unreadable` too, and keeps its value, so that the turn it is about can be told.

A journal's claims are never sealed: they say which worker has a partition, and are written before anything is read. A worker
with a wrong key claims too, and those with the right one must be able to take the partition back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

from topics import envelope
from topics.errors import KeyRingError, SealedRecordError
from topics.key_ring import Key, KeyRing
from topics.names import JOURNAL_SUFFIX, OPEN_NAMES, SENSITIVE_NAMES
from topics.unreadable import Unreadable

#: What the keys are used for: `read` opens sealed values and writes plain ones; `write` seals, and takes plain values
#: too; `require` seals, and takes sealed ones only.
Use = Literal["read", "write", "require"]
#: After so many records a writer changes its salt, and so its key: random nonces must never meet under one. At 2**32 the
#: chance that two did is one in 2**33.
RECORDS_PER_SALT = 2**30

#: What the keys of a journal's claims begin with, which no tenant's name does.
CLAIMS = b"\x00"

#: Where a record is, for errors: topic, partition, offset.
Place = tuple[str, int, int]


class Sealing:
    """Seals and opens values with the keys of `ring`; without one it seals nothing, and stops at what is sealed.

    `reread` returns the ring as it is now: it is asked when a record names a key that is not in `ring`, because keys are
    added while processes run. `lost` are ids of keys that nobody has any more.
    """

    def __init__(
        self,
        ring: KeyRing | None = None,
        *,
        use: Use = "require",
        lost: frozenset[str] = frozenset(),
        reread: Callable[[], KeyRing] | None = None,
    ) -> None:
        self._ring = ring
        self._use = use
        self._lost = lost
        self._reread = reread
        self._salt = b""
        self._sealed = 0

    def __repr__(self) -> str:
        return f"Sealing({self._ring!r}, use={self._use!r})"

    @property
    def ring(self) -> KeyRing | None:
        """The keys as they were last read."""
        return self._ring

    @property
    def seals(self) -> bool:
        """Whether anything is sealed here at all."""
        return self._ring is not None and self._use != "read"

    def seal(self, topic: str, key: bytes | None, value: bytes | None) -> bytes | None:
        """Return `value` as it is to be written to `topic` with the record key `key`; a tombstone stays one.

        Everything is sealed but what is for topics that anybody may read.
        """
        ring = self._ring
        if value is None or ring is None or self._use == "read" or topic.endswith(OPEN_NAMES) or is_claim(topic, key):
            return value
        if self._sealed % RECORDS_PER_SALT == 0:
            self._salt = os.urandom(envelope.SALT_BYTES)
        self._sealed += 1
        active, nonce = ring.active, os.urandom(envelope.NONCE_BYTES)
        raw = envelope.header(active.id, active.check, self._salt)
        return raw + nonce + active.encrypt(self._salt, nonce, value, envelope.vouched(raw, topic, key))

    def concerns(self, topic: str) -> bool:
        """Return whether values of `topic` may be sealed."""
        return not topic.endswith(OPEN_NAMES)

    def takes_plain(self, topic: str) -> bool:
        """Return whether every value of `topic` that is not sealed is taken as it is."""
        return self._ring is None or self._use != "require" or not topic.endswith(SENSITIVE_NAMES)

    @staticmethod
    def is_sealed(value: bytes | None) -> bool:
        """Return whether a value is sealed, or looks like that."""
        return envelope.is_sealed(value)

    def open(self, place: Place, key: bytes | None, value: bytes | None) -> bytes | None:
        """Return the value of the record at `place`, opened if it is sealed, `Unreadable` if it cannot be taken.

        Raises:
            SealedRecordError: it is sealed with a key that is not here.
        """
        if value is None or isinstance(value, Unreadable):
            return value
        if not envelope.is_sealed(value):
            topic = place[0]
            if self.takes_plain(topic) or is_claim(topic, key):
                return value
            return Unreadable(
                "the record is not sealed, and only sealed ones are taken here: have its writer seal it with a key of the "
                "ring, or set TURNGATE_KEY_RING_USE=write while not all writers do",
                value,
            )
        found = envelope.parse(value)
        if found is None:
            return Unreadable(
                "the record is sealed, and cut off or in a way that this build does not know: have it sent again, or "
                "upgrade this process"
            )
        held = self._key(found, place)
        if held is None:
            return Unreadable(f"the record is sealed with the key {found.key_id}, which is listed as lost")
        return _opened(held, found, value, place[0], key)

    def _key(self, found: envelope.Header, place: Place) -> Key | None:
        """Return the key that opens it; None if that is listed as lost."""
        held = self._ring.keys.get(found.key_id) if self._ring is not None else None
        if held is not None and held.check == found.check:
            return held
        if found.key_id in self._lost:
            return None
        if self._reread is not None and self._ring is not None:
            try:
                self._ring = self._reread()
            except KeyRingError as error:
                raise SealedRecordError(
                    f"{self._missing(found, place)}. Reading the ring again failed: {error}"
                ) from None
            held = self._ring.keys.get(found.key_id)
            if held is not None and held.check == found.check:
                return held
        raise SealedRecordError(self._missing(found, place))

    def _missing(self, found: envelope.Header, place: Place) -> str:
        topic, partition, offset = place
        what = f"{topic}[{partition}] at offset {offset}: the record is sealed with the key {found.key_id}"
        if self._ring is None:
            return f"{what}, and this process has no keys: set TURNGATE_KEY_RING to the folder that holds it"
        if found.key_id in self._ring.keys:
            return (
                f"{what}, and the ring has another key of that id: put the one that it was sealed with into its file, and "
                "give a new key a new id"
            )
        return (
            f"{what}, and the ring has {', '.join(sorted(self._ring.keys))}: add the file {found.key_id} to the folder of "
            "keys. If nobody has that key any more, list its id in TURNGATE_KEY_RING_LOST: what it sealed is refused then"
        )


class AsStored(Sealing):
    """Opens nothing and seals nothing: for whoever asks how records are kept."""

    def concerns(self, topic: str) -> bool:  # noqa: ARG002 - the same for all
        """Return False."""
        return False


def is_claim(topic: str, key: bytes | None) -> bool:
    """Return whether a record is a claim in a journal, which is never sealed."""
    return key is not None and key.startswith(CLAIMS) and topic.endswith(JOURNAL_SUFFIX)


def _opened(held: Key, found: envelope.Header, value: bytes, topic: str, key: bytes | None) -> bytes:
    vouched = envelope.vouched(found.raw, topic, key)
    opened = held.decrypt(found.salt, found.nonce, value[found.body_at :], vouched)
    if opened is None:
        return Unreadable(
            f"the record does not open with the key {found.key_id}, though it is the right one: it was altered, or moved "
            "here from another topic or record key. Have its writer send it again"
        )
    return opened
