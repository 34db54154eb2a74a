"""Tests of the traces of turns."""
