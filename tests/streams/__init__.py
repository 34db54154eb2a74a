"""Tests of `streams`."""

from __future__ import annotations
