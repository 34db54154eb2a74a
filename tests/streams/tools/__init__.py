"""Tests of `streams.tools`."""
