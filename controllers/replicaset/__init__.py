"""Keeps the number of pods a ReplicaSet asks for (step C3)."""
