"""L14: startup, liveness and readiness probes: the checks themselves, and the loops that repeat them."""
