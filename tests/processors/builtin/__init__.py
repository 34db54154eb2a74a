"""Tests of `processors.builtin`."""
