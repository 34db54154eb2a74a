"""Tests of `streams.gate`."""

from __future__ import annotations
