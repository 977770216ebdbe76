from __future__ import annotations

import pytest

from controllers.replicaset import plan as planning
from tests.unit.controllers.builders import NOW, ago, pod, replicaset


@pytest.mark.parametrize(
    ("wanted", "present", "create", "delete"),
    [(3, 0, 3, 0), (3, 3, 0, 0), (1, 3, 0, 2), (0, 2, 0, 2), (2000, 0, 500, 0), (0, 600, 0, 500)],
)
def test_the_difference_is_made_up_in_bursts(wanted: int, present: int, create: int, delete: int) -> None:
    owned = [pod(f"p{number}") for number in range(present)]
    plan = planning.plan_replicas(replicaset(wanted), owned, owned, NOW)
    assert (plan.create, len(plan.delete)) == (create, delete)


def test_replicas_default_to_one() -> None:
    subject = replicaset(1)
    del subject["spec"]["replicas"]
    assert planning.plan_replicas(subject, [], [], NOW).create == 1


def test_the_status_counts_ready_available_and_labelled_pods() -> None:
    subject = replicaset(3, minReadySeconds=30, template={"metadata": {"labels": {"app": "web"}}})
    labelled = {"labels": {"app": "web", "more": "yes"}}
    owned = [pod("a", ready_for=60, **labelled), pod("b", ready_for=10, **labelled), pod("c")]
    assert planning.status_of(subject, owned, 1, None, NOW) == {
        "replicas": 3,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 1,
        "observedGeneration": 2,
    }
    assert planning.next_available_seconds(subject, owned, NOW) == 20


def test_a_failure_becomes_a_condition_and_a_success_removes_it() -> None:
    subject = replicaset(2)
    status = planning.status_of(subject, [], 0, "exceeded quota", NOW)
    expected = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "exceeded quota",
        "lastTransitionTime": ago(0),
    }
    assert status["conditions"] == [expected]
    failing = {**subject, "status": status}
    assert planning.status_of(failing, [], 0, "exceeded quota again", NOW)["conditions"] == [expected]
    assert "conditions" not in planning.status_of(failing, [], 0, None, NOW)


def test_a_failed_deletion_says_so() -> None:
    status = planning.status_of(replicaset(0), [pod("a")], 0, "refused", NOW)
    assert status["conditions"][0]["reason"] == "FailedDelete"
