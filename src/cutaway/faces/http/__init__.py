"""The HTTP face: the API under `/api/v1`, and what a request must pass to reach it."""
