"""What a component counts, under upstream's names, so that upstream's dashboards and alerts apply.

One `Metrics` a process, made in its main and handed down; nothing registers itself anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_SECONDS = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1, 5, 10, 30, 60)


class Metrics:
    """The registry of a process, and the observers of this package. Implements `controller.Metrics`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        labels = ["name"]
        self._depth = self._gauge("workqueue_depth", "Keys that wait for a worker", labels)
        self._adds = self._counter("workqueue_adds", "Keys added", labels)
        self._retries = self._counter("workqueue_retries", "Keys added again after a failure", labels)
        self._waited = self._histogram("workqueue_queue_duration_seconds", "Time a key waited", labels)
        self._worked = self._histogram("workqueue_work_duration_seconds", "Time a key was processed", labels)
        controller = ["controller", "result"]
        self._reconciles = self._counter("controller_runtime_reconcile", "Reconciles by result", controller)
        self._reconcile = self._histogram(
            "controller_runtime_reconcile_time_seconds", "Length of a reconcile", ["controller"]
        )
        self._requests = self._counter("rest_client_requests", "HTTP requests", ["code", "method"])
        self._latency = self._histogram("rest_client_request_duration_seconds", "Time to the answer's head", ["verb"])

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self._reconciles.labels(controller, result).inc()
        self._reconcile.labels(controller).observe(seconds)

    def queue(self, name: str) -> QueueMetrics:
        """The observer of the queue `name`."""
        return QueueMetrics(
            self._depth.labels(name),
            self._adds.labels(name),
            self._retries.labels(name),
            self._waited.labels(name),
            self._worked.labels(name),
        )

    def requests(self) -> RequestMetrics:
        """The observer of a client."""
        return RequestMetrics(self._requests, self._latency)

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: list[str]) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, labels: list[str]) -> Histogram:
        return Histogram(name, text, labels, registry=self.registry, buckets=_SECONDS)


class QueueMetrics:
    """Implements `workqueue.Metrics`."""

    def __init__(self, depth: Gauge, adds: Counter, retries: Counter, waited: Histogram, worked: Histogram) -> None:
        self._depth = depth
        self._adds = adds
        self._retries = retries
        self._waited = waited
        self._worked = worked

    def added(self, depth: int) -> None:
        self._adds.inc()
        self._depth.set(depth)

    def taken(self, depth: int, waited_seconds: float) -> None:
        self._depth.set(depth)
        self._waited.observe(waited_seconds)

    def finished(self, worked_seconds: float) -> None:
        self._worked.observe(worked_seconds)

    def retried(self) -> None:
        self._retries.inc()


class RequestMetrics:
    """Implements `rest.Observer`."""

    def __init__(self, requests: Counter, latency: Histogram) -> None:
        self._requests = requests
        self._latency = latency

    def sent(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> None:
        """Counted when it is answered."""

    def answered(self, method: str, url: str, status: int, headers: Mapping[str, str], seconds: float) -> None:
        self._requests.labels(str(status), method).inc()
        self._latency.labels(method).observe(seconds)

    def received(self, content: bytes) -> None:
        """Sizes are not counted."""
