"""Rolls a Deployment's pod template out over ReplicaSets, one a revision (step C2)."""
