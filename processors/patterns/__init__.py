"""Patterns that run in linear time and know, at every moment, which text could still become part of a match."""

from __future__ import annotations

from processors.patterns.errors import PatternError
from processors.patterns.pattern import Pattern, Span

__all__ = ["Pattern", "PatternError", "Span"]
