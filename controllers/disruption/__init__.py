"""The disruption controller: what PodDisruptionBudgets still allow (step C5)."""
