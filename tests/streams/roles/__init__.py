"""Tests of what the roles are made of."""

from __future__ import annotations
