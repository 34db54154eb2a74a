"""Tests of the measurements: that they count what they say, and never that a figure is good."""
