"""Tests, one folder for each package and for each kind of test that spans packages."""
