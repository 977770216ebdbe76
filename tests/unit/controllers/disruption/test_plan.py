from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apimachinery import clock
from apimachinery.objects import Object
from controllers.disruption import plan
from controllers.disruption.plan import Expectation
from tests.unit.controllers.builders import NOW, ago, owned_by, pod


def budget(disrupted: dict[str, str] | None = None, **spec: Any) -> Object:
    status = {"disruptedPods": disrupted} if disrupted else {}
    return {"metadata": {"name": "b", "namespace": "default", "generation": 3}, "spec": spec, "status": status}


def ready(*names: str) -> list[Object]:
    return [pod(name, ready_for=60) for name in names]


@pytest.mark.parametrize(
    ("spec", "pod_count", "scale", "expected"),
    [
        ({"minAvailable": 2}, 3, 9, Expectation(3, 2)),  # a number is of the pods that there are
        ({"minAvailable": "50%"}, 3, 5, Expectation(5, 3)),
        ({"minAvailable": "0%"}, 3, 5, Expectation(5, 0)),
        ({"maxUnavailable": 1}, 3, 5, Expectation(5, 4)),
        ({"maxUnavailable": 7}, 3, 5, Expectation(5, 0)),
        ({"maxUnavailable": "30%"}, 3, 5, Expectation(5, 3)),
        ({}, 3, 0, Expectation(3, 0)),
    ],
)
def test_a_number_or_a_percentage_tells_how_many_must_be_healthy(
    spec: Object, pod_count: int, scale: int, expected: Expectation
) -> None:
    assert plan.expectation(budget(**spec), pod_count, scale) == expected


@pytest.mark.parametrize(
    ("spec", "needed"),
    [({"minAvailable": 1}, False), ({}, False), ({"minAvailable": "1%"}, True), ({"maxUnavailable": 0}, True)],
)
def test_only_what_depends_on_the_scale_asks_for_it(spec: Object, needed: bool) -> None:
    assert plan.needs_scale(budget(**spec)) is needed


def test_each_controller_is_asked_once_and_pods_without_one_are_told() -> None:
    members = [owned_by(pod("a"), "web"), owned_by(pod("b"), "web"), owned_by(pod("c"), "db"), pod("d")]
    owned, unmanaged = plan.owners(members)
    assert list(owned) == ["web", "db"]
    assert [each["metadata"]["name"] for each in unmanaged] == ["d"]


@pytest.mark.parametrize(
    ("healthy", "expected", "allowed", "status", "reason"),
    [
        (3, Expectation(3, 2), 1, "True", "SufficientPods"),
        (2, Expectation(3, 2), 0, "False", "InsufficientPods"),
        (1, Expectation(3, 2), 0, "False", "InsufficientPods"),
        (0, Expectation(0, 0), 0, "False", "InsufficientPods"),
        (2, Expectation(0, 0), 0, "False", "InsufficientPods"),  # expects nobody: nobody may go
    ],
)
def test_what_is_healthy_beyond_what_must_be_may_go(
    healthy: int, expected: Expectation, allowed: int, status: str, reason: str
) -> None:
    members = [*ready(*(f"p{number}" for number in range(healthy))), pod("unready")]
    result = plan.status_of(budget(), members, expected, {}, NOW)
    assert (result["currentHealthy"], result["disruptionsAllowed"]) == (healthy, allowed)
    assert (result["desiredHealthy"], result["expectedPods"]) == (expected.healthy, expected.pods)
    assert result["observedGeneration"] == 3
    [condition] = result["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("DisruptionAllowed", status, reason)
    assert (condition["observedGeneration"], condition["lastTransitionTime"]) == (3, clock.rfc3339(NOW))


def test_pods_that_go_or_may_go_at_once_are_not_healthy() -> None:
    members = [*ready("stays", "granted"), pod("going", ready_for=60, deletionTimestamp=ago(1))]
    result = plan.status_of(budget(), members, Expectation(3, 0), {"granted": ago(1)}, NOW)
    assert result["currentHealthy"] == 1
    assert result["disruptedPods"] == {"granted": ago(1)}


@pytest.mark.parametrize(
    ("granted", "pending", "stayed", "recheck"),
    [
        ({}, [], [], None),
        ({"a": ago(30)}, ["a"], [], 90.0),
        ({"a": ago(30), "b": ago(100)}, ["a", "b"], [], 20.0),
        ({"a": ago(121)}, [], ["a"], None),
        ({"a": ago(300), "b": ago(0)}, ["b"], ["a"], 120.0),
        ({"going": ago(10), "gone": ago(10)}, [], [], None),
    ],
)
def test_a_granted_eviction_counts_until_it_is_seen_or_two_minutes_are_over(
    granted: dict[str, str], pending: list[str], stayed: list[str], recheck: float | None
) -> None:
    members = [*ready("a", "b"), pod("going", deletionTimestamp=ago(1))]
    result = plan.disrupted(budget(granted), members, NOW)
    assert sorted(result.pending) == pending
    assert [each["metadata"]["name"] for each in result.stayed] == stayed
    assert result.recheck_seconds == recheck


def test_a_failure_allows_nothing_and_keeps_what_was_counted() -> None:
    before = plan.status_of(budget(), ready("a", "b"), Expectation(2, 1), {"c": ago(5)}, NOW)
    later = NOW + timedelta(seconds=60)
    result = plan.failed_status(budget() | {"status": before}, "no scale", later)
    assert result["disruptionsAllowed"] == 0
    assert (result["currentHealthy"], result["disruptedPods"]) == (2, {"c": ago(5)})
    [condition] = result["conditions"]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "SyncFailed", "no scale")
    assert condition["lastTransitionTime"] == clock.rfc3339(later)


def test_an_unchanged_verdict_keeps_its_time() -> None:
    before = plan.status_of(budget(), ready("a"), Expectation(1, 0), {}, NOW)
    again = plan.status_of(budget() | {"status": before}, ready("a"), Expectation(1, 0), {}, NOW + timedelta(hours=1))
    assert again == before
