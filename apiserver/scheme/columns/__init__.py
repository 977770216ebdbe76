"""Printer columns, as `kubectl get` shows them: one module a family of kinds."""
