"""Tests of `streams.journal`."""
