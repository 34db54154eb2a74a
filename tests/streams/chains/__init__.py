"""Tests of `streams.chains`."""

from __future__ import annotations
