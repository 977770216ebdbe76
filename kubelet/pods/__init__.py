"""Pods on this node: where they come from, who may come in, and a worker for each."""
