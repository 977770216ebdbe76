"""L6, L7: a pod's directory and the volumes in it. Sources make contents (pure), the writer swaps them in
atomically."""
