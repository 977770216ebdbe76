"""What a pod asks for, and how it fares."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from apimachinery import pods
from apimachinery.objects import Object


def container(cpu: str = "", memory: str = "", *, limits: Object | None = None, **more: Any) -> Object:
    requests = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    return {"name": "c", "resources": {"requests": requests, "limits": limits or {}}} | more


def pod(*containers: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers)} | spec}


def test_app_containers_add_up() -> None:
    asked = pods.requests(pod(container("100m", "1Gi"), container("200m")))
    assert asked == {"cpu": Decimal("0.3"), "memory": Decimal(2**30)}


def test_the_largest_init_container_counts_where_it_is_more_than_the_apps() -> None:
    asked = pods.requests(pod(container("1", "1Gi"), initContainers=[container("2", "512Mi"), container("3")]))
    assert asked == {"cpu": Decimal(3), "memory": Decimal(2**30)}


def test_sidecars_run_beside_apps_and_beside_the_inits_after_them() -> None:
    sidecar = container("1", restartPolicy="Always")
    assert pods.requests(pod(container("1"), initContainers=[sidecar, container("3")]))["cpu"] == 4
    assert pods.requests(pod(container("1"), initContainers=[container("3"), sidecar]))["cpu"] == 3
    assert pods.requests(pod(container("5"), initContainers=[sidecar]))["cpu"] == 6


def test_overhead_comes_on_top_and_pod_level_requests_replace() -> None:
    assert pods.requests(pod(container("1"), overhead={"cpu": "250m"}))["cpu"] == Decimal("1.25")
    assert pods.requests(pod(container("1"), resources={"requests": {"cpu": "4"}}))["cpu"] == 4


@pytest.mark.parametrize(
    ("made", "qos"),
    [
        (pod(container()), "BestEffort"),
        (pod(container("1")), "Burstable"),
        (pod(container("1", "1Gi", limits={"cpu": "1", "memory": "1Gi"})), "Guaranteed"),
        (pod(container("1000m", "1024Mi", limits={"cpu": "1", "memory": "1Gi"})), "Guaranteed"),
        (pod(container("1", "1Gi", limits={"cpu": "2", "memory": "1Gi"})), "Burstable"),
        (pod(container("1", "1Gi", limits={"cpu": "1", "memory": "1Gi"}), container()), "Burstable"),
        (pod(container("0")), "BestEffort"),
    ],
)
def test_quality_of_service(made: Object, qos: str) -> None:
    assert pods.qos_class(made) == qos


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "w"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: Object, tolerates: bool) -> None:
    assert pods.tolerates(toleration, {"key": "k", "value": "v", "effect": "NoExecute"}) is tolerates


def test_a_pod_is_available_when_it_was_ready_long_enough() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    made = pod() | {"status": {"phase": "Running", "conditions": [ready]}}
    assert pods.is_available(made, 10, datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC))
    assert not pods.is_available(made, 10, datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC))
    assert pods.is_active(made)
    assert not pods.is_active(made | {"status": {"phase": "Failed"}})
