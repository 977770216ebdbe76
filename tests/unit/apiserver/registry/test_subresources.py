"""Scales and budgets as values."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.registry.subresources import eviction, scale

NOW = "2026-01-01T00:00:00Z"


def test_a_scale_shows_a_workload_and_folds_back_into_it() -> None:
    workload = {
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"x": "y"}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"b": "1", "a": "2"}}, "template": {}},
        "status": {"replicas": 2},
    }
    shown = scale.view(workload)
    assert shown["metadata"] == {"name": "d", "namespace": "n", "uid": "u", "resourceVersion": "7"}
    assert shown["status"] == {"replicas": 2, "selector": "a=2,b=1"}
    assert scale.fold(workload, shown) == workload
    asked = shown | {"spec": {"replicas": 9}}
    assert scale.fold(workload, asked)["spec"] == workload["spec"] | {"replicas": 9}


def budget(**status: Any) -> Object:
    full = {"observedGeneration": 2, "disruptionsAllowed": 1, "desiredHealthy": 2, "currentHealthy": 3}
    return {"metadata": {"name": "b", "generation": 2}, "status": full | status}


def test_a_disruption_is_spent_and_remembered() -> None:
    before = budget()
    after = eviction.spent(before, "p", NOW)
    assert after["status"]["disruptionsAllowed"] == 0
    assert after["status"]["disruptedPods"] == {"p": NOW}
    assert before == budget()


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (
            {"disruptionsAllowed": 0},
            errors.TooManyRequests,
            "The disruption budget b needs 2 healthy pods and has 3 currently",
        ),
        (
            {"observedGeneration": 1},
            errors.TooManyRequests,
            "The disruption budget b is still being processed by the server.",
        ),
        ({"disruptionsAllowed": -1}, errors.Forbidden, "pdb disruptions allowed is negative"),
        (
            {"disruptedPods": {str(index): NOW for index in range(2001)}},
            errors.Forbidden,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ),
    ],
)
def test_a_budget_that_has_nothing_to_give(status: Any, error: type[errors.APIError], words: str) -> None:
    with pytest.raises(error) as caught:
        eviction.spent(budget(**status), "p", NOW)
    assert words in str(caught.value.to_status())
