"""Patterns, and what is found with them."""

from __future__ import annotations
