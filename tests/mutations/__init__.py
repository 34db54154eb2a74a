"""Mistakes that a gate can be made with, and the tests that catch each."""
