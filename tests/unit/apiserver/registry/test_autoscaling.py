from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import Object
from apiserver.registry import autoscaling


def scaler(version: str, spec: dict[str, Any], status: dict[str, Any] | None = None, **notes: str) -> Object:
    metadata: Object = {"name": "h"}
    if notes:
        metadata["annotations"] = {f"autoscaling.alpha.kubernetes.io/{name}": text for name, text in notes.items()}
    made = {"apiVersion": version, "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}
    return made | ({"status": status} if status is not None else {})


def cpu(percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


MEMORY: Object = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
}
BEHAVIOR: Object = {"scaleDown": {"stabilizationWindowSeconds": 60}}
CONDITION: Object = {"type": "AbleToScale", "status": "True"}


def test_the_share_of_cpu_is_a_field_of_its_own() -> None:
    v1 = scaler("autoscaling/v1", {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50})
    v2 = autoscaling.to_storage(v1)
    assert v2["spec"] == {"maxReplicas": 3, "metrics": [cpu(50)]}
    assert autoscaling.from_storage(v2) == v1


def test_without_any_metric_the_share_of_cpu_has_a_default() -> None:
    v2 = autoscaling.to_storage(scaler("autoscaling/v1", {"maxReplicas": 3}))
    assert v2["spec"]["metrics"] == [cpu(80)]


def test_what_version_1_has_no_field_for_is_kept_in_annotations() -> None:
    v2 = scaler(
        "autoscaling/v2",
        {"maxReplicas": 3, "metrics": [MEMORY, cpu(40)], "behavior": BEHAVIOR},
        {"desiredReplicas": 1, "conditions": [CONDITION]},
    )
    v1 = autoscaling.from_storage(v2)
    assert v1["spec"] == {"maxReplicas": 3, "targetCPUUtilizationPercentage": 40}
    assert set(v1["metadata"]["annotations"]) == {
        f"autoscaling.alpha.kubernetes.io/{name}" for name in ("metrics", "behavior", "conditions")
    }
    again = autoscaling.to_storage(v1)
    assert again["spec"] == v2["spec"] | {"metrics": [cpu(40), MEMORY]}
    assert again["status"] == v2["status"]
    assert "annotations" not in again["metadata"]


@pytest.mark.parametrize("text", ["", "no json", "{}", "[1, 2]"])
def test_an_annotation_that_cannot_be_read_counts_for_nothing(text: str) -> None:
    v1 = scaler("autoscaling/v1", {"maxReplicas": 3, "targetCPUUtilizationPercentage": 5}, metrics=text, behavior=text)
    v2 = autoscaling.to_storage(v1)
    assert v2["spec"]["metrics"] == [cpu(5)]
