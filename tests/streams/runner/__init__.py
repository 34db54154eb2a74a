"""Tests of `streams.runner`."""
