"""L2: what a node counts, under upstream's names, so that upstream's dashboards and alerts apply.

`kubelet_pod_start_duration_seconds` runs from the moment the kubelet first sees a pod to the moment it sees all its
containers running.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, Histogram

_START_SECONDS = (0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600)
_WORK_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.pod_start = Histogram(
            "kubelet_pod_start_duration_seconds",
            "From the kubelet seeing a pod for the first time to the pod starting to run",
            registry=registry,
            buckets=_START_SECONDS,
        )
        self.pod_work = Histogram(
            "kubelet_pod_worker_duration_seconds",
            "One round of a pod's worker",
            ["operation_type"],
            registry=registry,
            buckets=_WORK_SECONDS,
        )
        self.relist = Histogram(
            "kubelet_pleg_relist_duration_seconds",
            "One look at the whole runtime",
            registry=registry,
            buckets=_WORK_SECONDS,
        )
        self.status_update = Histogram(
            "kubelet_pod_status_sync_duration_seconds",
            "From a status to its write",
            registry=registry,
            buckets=_WORK_SECONDS,
        )
        self.running_pods = Gauge("kubelet_running_pods", "Pods with a ready sandbox", registry=registry)
