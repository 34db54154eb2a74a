"""What each kind of worker is made of, and the checks before it starts."""
