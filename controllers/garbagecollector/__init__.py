"""Deletes what its owners have left behind, and holds owners back while that is asked for (step C4)."""
