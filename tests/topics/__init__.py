"""Tests of `topics`."""
