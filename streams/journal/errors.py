"""Why a journal's writer must stop.

    JournalStop
    ├── SupersededError        another worker claimed the partition: this one must publish nothing more
    ├── UnreadableGapError     somebody wrote in between, and what they wrote cannot be read
    └── PartitionCountError    the journal was claimed with another number of partitions

All of them end the process before it publishes or acknowledges anything else; a restart replays.
"""

from __future__ import annotations


class JournalStop(Exception):  # noqa: N818 - a reason to stop, not a mistake of the caller's
    """Base: the process must end now."""


class SupersededError(JournalStop):
    """A newer claim stands in the journal: this worker lost the partition."""


class UnreadableGapError(JournalStop):
    """An append landed further on than expected and the records between cannot be read or are of unknown origin."""


class PartitionCountError(JournalStop):
    """The number of partitions is not the one the journal was claimed with: use a new prefix, drain this one."""
