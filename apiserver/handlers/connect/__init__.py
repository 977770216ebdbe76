"""Connections through the apiserver to kubelets: logs, exec, attach, port-forward, a node's own endpoints."""
