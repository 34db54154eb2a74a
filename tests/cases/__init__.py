"""Failures that real systems had, replayed."""

from __future__ import annotations
