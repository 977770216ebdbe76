"""Gives each node a range of pod addresses (step C5)."""
