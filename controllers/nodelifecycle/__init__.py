"""Notices nodes that went silent, says so in their conditions and taints, and moves pods away in the end (step C5)."""
