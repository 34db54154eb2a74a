"""What can go wrong with records and topics.

    TopicsError
    ├── WireError                 a record's bytes are not what its topic carries
    │   ├── MalformedRecordError    not JSON, not an object, not UTF-8, a tombstone, a missing or wrong field
    │   ├── UnreadableRecordError   the record is damaged, or not made as Kafka's protocol has it
    │   └── UnsupportedVersionError a `v` this build does not know
    ├── RecordTooLargeError       a record would exceed what the broker accepts
    ├── TopicLayoutError          topics are missing, or have the wrong partitions or cleanup
    ├── KeyRingError              the keys that records are sealed with cannot be used
    ├── SealedRecordError         a record is sealed with a key that this process does not have
    └── BrokerUnreachableError    no broker answered at the address given
        └── AccessDeniedError       one did, and refused this client

No message of these errors quotes a record's content: fields are named, values are not.
"""

from __future__ import annotations


class TopicsError(Exception):
    """Base of every error this package raises."""


class WireError(TopicsError):
    """A record's bytes are not what its topic carries."""


class MalformedRecordError(WireError):
    """The bytes cannot be read as the topic's record: says which fields are wrong, never what they contain."""


class UnreadableRecordError(WireError):
    """The record, or the batch that it came in, cannot be read as Kafka stores them: says what is wrong with it."""


class UnsupportedVersionError(WireError):
    """The record's `v` is newer than this build knows: upgrade this process, or lower the writer's version."""


class RecordTooLargeError(TopicsError):
    """The encoded record would exceed the broker's limit for one record."""


class TopicLayoutError(TopicsError):
    """Topics are missing or laid out differently than turngate needs: says which, and the command that mends it."""


class KeyRingError(TopicsError):
    """The keys that records are sealed with cannot be read or used: says which file, never what is in it."""


class SealedRecordError(TopicsError):
    """A record is sealed with a key that this process does not have: says where it is, which key, and what to do.

    Nothing is wrong with the record, so this is no `WireError`: whoever meets it stops before it acknowledges anything.
    """


class BrokerUnreachableError(TopicsError):
    """No Kafka broker answered at the given address within the limit."""


class AccessDeniedError(BrokerUnreachableError):
    """A broker answered and refused this client: what it logged in as is wrong, or may not do what was asked."""
