"""The value of a record that could not be read as Kafka stores it."""

from __future__ import annotations

from typing import Self


class Unreadable(bytes):
    """Stands as the value of a record that could not be read; `reason` says why and what to do, without content.

    Its bytes are the record's value where that itself could be made out, so that who is meant can be told; empty where
    it could not. `codec.decode` refuses it in either case.
    """

    reason: str

    def __new__(cls, reason: str, value: bytes | None = None) -> Self:
        """Return it, with what is known of the record's value."""
        self = super().__new__(cls, value or b"")
        self.reason = reason
        return self
