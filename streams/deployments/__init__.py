"""Versioned processors in a running worker: what is deployed becomes the chains that new turns begin with."""
