"""Measurements: ratios of things run side by side on one broker in one run. Nothing here is asserted anywhere."""
