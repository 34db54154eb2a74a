"""Tests of `processors`."""

from __future__ import annotations
