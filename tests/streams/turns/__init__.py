"""Tests of `streams.turns`."""
