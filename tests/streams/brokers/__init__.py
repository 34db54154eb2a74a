"""Tests of the embedded broker and how commands find it."""

from __future__ import annotations
