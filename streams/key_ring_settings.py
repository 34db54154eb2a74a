"""Settings of what is encrypted at rest, and from them to a `Sealing`."""

from __future__ import annotations

from functools import partial

from pydantic import BaseModel, Field

from topics.key_ring import KeyRing
from topics.sealing import Sealing, Use


class KeyRingSettings(BaseModel):
    """Which keys values are sealed with, and how strictly, for every command, worker and gateway alike."""

    key_ring: str | None = Field(
        default=None,
        description="the folder of keys that sensitive topics and journals are encrypted with; without it they are not",
    )
    key_ring_active: str | None = Field(
        default=None, description="the id of the key to seal with; without it the file `active` in the folder names it"
    )
    key_ring_use: Use = Field(
        default="require",
        description="`read`: open what is sealed, seal nothing; `write`: seal, and take plain records too; `require`: "
        "take sealed ones only",
    )
    key_ring_lost: tuple[str, ...] = Field(
        default=(),
        description="ids of keys that nobody has any more: what they sealed is refused instead of waited for",
    )


def sealing_of(settings: KeyRingSettings) -> Sealing:
    """Return what seals and opens records.

    Raises:
        KeyRingError: the keys cannot be read or used.
    """
    lost = frozenset(settings.key_ring_lost)
    if settings.key_ring is None:
        return Sealing(lost=lost)
    reread = partial(KeyRing.read, settings.key_ring, settings.key_ring_active)
    return Sealing(reread(), use=settings.key_ring_use, lost=lost, reread=reread)
