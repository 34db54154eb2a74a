"""Tests of `streams.gateway`."""

from __future__ import annotations
