"""Tests of `streams.models`."""

from __future__ import annotations
