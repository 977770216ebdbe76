"""Empties a namespace that is being deleted, and lets it go (step C5)."""
