"""Tests of the roles that workers play."""
