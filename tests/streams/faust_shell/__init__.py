"""Tests of `streams.faust_shell`."""
