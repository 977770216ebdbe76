"""Subresources that are more than a part of their object: scale, binding, eviction. One file each."""
