"""One module for each of the three promises at the top of the README."""
