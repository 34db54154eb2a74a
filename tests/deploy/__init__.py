"""Tests of what is shipped to run turngate: images, compose, Kubernetes. No engine runs here; what they run does."""
