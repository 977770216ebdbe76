"""The scheduler's own metrics, under upstream's names."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = tuple(0.001 * 2**n for n in range(15))
_ATTEMPTS = (1, 2, 4, 8, 16)


class Metrics:
    """What cycles and the queue report."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._attempts = Counter(
            "scheduler_schedule_attempts", "Attempts by result", ["result", "profile"], registry=registry
        )
        self._attempt_seconds = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "Length of a scheduling cycle",
            ["result", "profile"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._pending = Gauge("scheduler_pending_pods", "Pods that wait, by queue", ["queue"], registry=registry)
        self._pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound", registry=registry, buckets=_ATTEMPTS
        )
        self._pod_seconds = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "Time from the queue to the node",
            ["attempts"],
            registry=registry,
            buckets=tuple(0.01 * 2**n for n in range(20)),
        )

    def attempted(self, profile: str, scheduled: bool, seconds: float) -> None:
        result = "scheduled" if scheduled else "unschedulable"
        self._attempts.labels(result, profile).inc()
        self._attempt_seconds.labels(result, profile).observe(seconds)

    def scheduled(self, attempts: int, seconds: float) -> None:
        self._pod_attempts.observe(attempts)
        self._pod_seconds.labels(str(min(attempts, _ATTEMPTS[-1]))).observe(seconds)

    def pending(self, sizes: Mapping[str, int]) -> None:
        for queue, size in sizes.items():
            self._pending.labels(queue).set(size)
