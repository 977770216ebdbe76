"""`/metrics`: what the server counts, added up over its workers."""

from __future__ import annotations

from apiserver.metrics.requests import CONTENT_TYPE, Metrics, running_family
from apiserver.metrics.slots import Slots

__all__ = ["CONTENT_TYPE", "Metrics", "Slots", "running_family"]
