"""What is installed: versions that are promised, and the wheel in clean environments (`make packages`)."""
