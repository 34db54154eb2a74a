"""Finding SQL in what a model wrote, and judging it. Pure functions of texts."""
