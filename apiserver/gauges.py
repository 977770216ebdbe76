"""The gauges of `/metrics` that nobody keeps: read from the running server when somebody asks."""

from __future__ import annotations

from apimachinery.gvr import GVR
from apiserver import inflight, metrics
from apiserver.aggregation.wiring import Aggregation
from apiserver.handlers.version import KUBERNETES
from apiserver.metrics.families import Gauge, labelled
from apiserver.scheme.scheme import Scheme
from apiserver.storage.store import Store


def add(
    counted: metrics.Metrics, running: inflight.Running, scheme: Scheme, store: Store, aggregation: Aggregation
) -> None:
    """All of them are the same in every worker, so that they are shown and not added up."""
    metrics.running_family(counted, running)
    _objects(counted, scheme, store)
    _api_services(counted, aggregation)
    build = Gauge("kubernetes_build_info", "[ALPHA] The release of the API that is served.")
    major, minor, _ = KUBERNETES.split(".")
    build.set(labelled({"git_version": f"v{KUBERNETES}", "major": major, "minor": minor}), 1)
    counted.add_alike(build, _nothing)


def _objects(counted: metrics.Metrics, scheme: Scheme, store: Store) -> None:
    stored = Gauge("apiserver_storage_objects", "[STABLE] Number of stored objects at the time of last check.")
    newer = Gauge("apiserver_resource_objects", "[ALPHA] Number of stored objects at the time of last check.")

    def collect() -> None:
        stored.values.clear()
        newer.values.clear()
        rows = {row.prefix: row for row in reversed(scheme.rows()) if scheme.is_stored(row)}
        for prefix, row in rows.items():
            count = store.cached_count(f"{prefix}/")
            stored.set(labelled({"resource": qualified(row.gvr)}), count)
            newer.set(labelled({"group": row.group, "resource": row.resource}), count)

    counted.add_alike(stored, collect)
    counted.add_alike(newer, _nothing)


def _api_services(counted: metrics.Metrics, aggregation: Aggregation) -> None:
    family = Gauge("aggregator_unavailable_apiservice", "[ALPHA] Gauge of APIServices which are marked as unavailable.")

    def collect() -> None:
        family.values.clear()
        for name, unavailable in aggregation.unavailable().items():
            family.set(labelled({"name": name}), int(unavailable))

    counted.add_alike(family, collect)


def qualified(gvr: GVR) -> str:
    """`pods`, `deployments.apps`."""
    return f"{gvr.resource}.{gvr.group}" if gvr.group else gvr.resource


def _nothing() -> None:
    """What never changes, or another collector keeps."""
