"""Who a record is about: the identity of a turn, and the key and partition everything about it shares.

A turn is identified by (`tenant`, `thread_id`, `turn_id`). All turn topics are keyed by `tenant/thread_id` and
partitioned with murmur2 as the Java client does it, so that everything about a thread meets on one worker.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from aiokafka.partitioner import murmur2
from pydantic import StringConstraints

#: How an identifier has to be, in words.
ID_RULE = "1 to 200 characters, no slash and no control characters"

#: An identifier on the wire, as `ID_RULE` says it; the slash separates the parts of a key.
Id = Annotated[str, StringConstraints(pattern=r"^[^/\x00-\x1f\x7f]+$", min_length=1, max_length=200)]


class TurnKey(NamedTuple):
    """The identity of a turn."""

    tenant: str
    thread_id: str
    turn_id: str

    @property
    def thread(self) -> ThreadKey:
        """The thread this turn belongs to."""
        return ThreadKey(self.tenant, self.thread_id)

    def __str__(self) -> str:
        """Return `tenant/thread_id/turn_id`, unambiguous because no part may contain a slash."""
        return f"{self.tenant}/{self.thread_id}/{self.turn_id}"

    @classmethod
    def parse(cls, text: str) -> TurnKey:
        """Return the key that `str()` wrote.

        Raises:
            ValueError: `text` does not have three parts.
        """
        tenant, thread_id, turn_id = text.split("/")
        return cls(tenant, thread_id, turn_id)


class ThreadKey(NamedTuple):
    """The identity of a conversation, and the Kafka key of every record about it."""

    tenant: str
    thread_id: str

    def encode(self) -> bytes:
        """Return the Kafka record key: `tenant/thread_id` in UTF-8."""
        return f"{self.tenant}/{self.thread_id}".encode()

    def partition(self, partitions: int) -> int:
        """Return the partition of this thread among `partitions`, as the Java client's default partitioner picks it."""
        return int(murmur2(self.encode()) & 0x7FFFFFFF) % partitions
