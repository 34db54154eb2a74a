"""The promise checker: what it finds in chains that keep their promise, and in those that do not."""

from __future__ import annotations
