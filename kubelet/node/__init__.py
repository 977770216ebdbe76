"""The node itself in the API: what it is and has, how it fares, and its sign of life (the lease)."""
