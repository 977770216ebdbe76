"""Status from what is observed: phases, conditions, container states."""

# ruff: noqa: E501  # tables read by rows

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apimachinery import objects
from apimachinery.objects import Object
from kubelet import status_writer
from kubelet.observed import Observed
from kubelet.plan import Wait
from kubelet.status import Known, Verdict, pod_status
from tests.unit.kubelet.builders import START, observed, pod, run, sidecar

NOW = START + timedelta(seconds=5)


def status_of(a_pod: Object, seen: Observed, **known: Any) -> dict[str, Any]:
    return pod_status(a_pod, seen, Known(now=NOW, host_ips=("192.0.2.1",), **known))


def condition(status: dict[str, Any], kind: str) -> tuple[str, str]:
    found = objects.condition({"status": status}, kind)
    assert found is not None
    return found["status"], found.get("reason", "")


PHASES = [
    ("nothing has begun", pod("a"), Observed(), {}, "Pending"),
    ("the sandbox is there", pod("a"), observed(), {}, "Pending"),
    ("one of two runs", pod("a", "b"), observed(run("a")), {}, "Pending"),
    ("all run", pod("a", "b"), observed(run("a"), run("b")), {}, "Running"),
    ("init containers run", pod("a", init=("i",)), observed(run("i")), {}, "Pending"),
    ("an init container failed and will be tried again", pod("a", init=("i",)), observed(run("i", "exited", code=1)), {}, "Pending"),
    ("an init container failed for good", pod("a", init=("i",), restart="Never"), observed(run("i", "exited", code=1)), {}, "Failed"),
    ("a sidecar starts", pod("a", init=(sidecar("s"),)), observed(run("s")), {}, "Pending"),
    ("the one app ended and will be restarted", pod("a"), observed(run("a", "exited")), {}, "Running"),
    ("it waits for its restart", pod("a"), observed(run("a", "exited", code=1)), {"waiting": {"a": Wait("a", "CrashLoopBackOff", "m")}}, "Running"),
    ("all succeeded", pod("a", restart="Never"), observed(run("a", "exited")), {}, "Succeeded"),
    ("one failed", pod("a", "b", restart="Never"), observed(run("a", "exited"), run("b", "exited", code=1)), {}, "Failed"),
    ("one failed and will be restarted", pod("a", restart="OnFailure"), observed(run("a", "exited", code=1)), {}, "Running"),
    ("its sidecar still runs", pod("a", init=(sidecar("s"),), restart="Never"), observed(run("s"), run("a", "exited")), {}, "Running"),
    ("deleted, and all ended well", pod("a"), observed(run("a", "exited"), ready=False), {"ended": True}, "Succeeded"),
    ("deleted, and one was killed", pod("a"), observed(run("a", "exited", code=137), ready=False), {"ended": True}, "Failed"),
    ("deleted before anything ran", pod("a"), Observed(), {"ended": True}, "Failed"),
    ("evicted", pod("a"), observed(run("a")), {"verdict": Verdict("Evicted", "m")}, "Failed"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("a_pod", "seen", "known", "phase"), [row[1:] for row in PHASES], ids=[row[0] for row in PHASES]
)
def test_the_phase_is(a_pod: Object, seen: Observed, known: dict[str, Any], phase: str) -> None:
    assert status_of(a_pod, seen, **known)["phase"] == phase


def test_a_running_pod_tells_addresses_containers_and_readiness() -> None:
    status = status_of(pod("a"), observed(run("a", image="i:1", image_id="sha256:1")))
    assert (status["podIP"], status["podIPs"], status["hostIP"]) == ("10.0.0.1", [{"ip": "10.0.0.1"}], "192.0.2.1")
    (entry,) = status["containerStatuses"]
    assert entry["state"] == {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    assert (entry["containerID"], entry["imageID"], entry["ready"], entry["started"]) == (
        "containerd://a-0",
        "sha256:1",
        True,
        True,
    )
    for kind in ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"):
        assert condition(status, kind) == ("True", "")


def test_a_readiness_probe_that_fails_makes_container_and_pod_unready() -> None:
    status = status_of(pod("a", "b"), observed(run("a"), run("b")), unready=frozenset({"a-0"}))
    assert status["phase"] == "Running"
    assert condition(status, "Ready") == ("False", "ContainersNotReady")
    found = objects.condition({"status": status}, "ContainersReady") or {}
    assert found["message"] == "containers with unready status: [a]"


def test_a_crashed_container_waits_and_shows_its_last_state() -> None:
    waiting = {"a": Wait("a", "CrashLoopBackOff", "back-off 10s")}
    status = status_of(pod("a"), observed(run("a", "exited", code=3, attempt=2)), waiting=waiting)
    (entry,) = status["containerStatuses"]
    assert entry["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
    assert entry["lastState"]["terminated"]["exitCode"] == 3
    assert entry["restartCount"] == 2


def test_a_restarted_container_shows_the_run_before() -> None:
    seen = observed(run("a", attempt=1), run("a", "exited", code=7, attempt=0))
    (entry,) = status_of(pod("a"), seen)["containerStatuses"]
    assert entry["restartCount"] == 1
    assert entry["lastState"]["terminated"]["exitCode"] == 7


def test_what_a_container_wrote_before_it_ended_is_its_message() -> None:
    status = status_of(pod("a", restart="Never"), observed(run("a", "exited", code=1)), messages={"a-0": "out of tea"})
    assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "out of tea"


def test_containers_behind_an_init_container_are_initializing() -> None:
    status = status_of(pod("a", init=("i", "j")), observed(run("i")))
    assert [entry["state"] for entry in status["initContainerStatuses"][1:]] == [
        {"waiting": {"reason": "PodInitializing"}}
    ]
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert condition(status, "Initialized") == ("False", "ContainersNotInitialized")


def test_a_pod_that_succeeded_is_completed() -> None:
    status = status_of(pod("a", restart="Never"), observed(run("a", "exited"), ready=False), ended=True)
    assert condition(status, "Ready") == ("False", "PodCompleted")
    assert condition(status, "Initialized") == ("True", "PodCompleted")


def test_readiness_gates_hold_up_ready_but_not_the_containers() -> None:
    a_pod = pod("a", readinessGates=[{"conditionType": "example.com/lb"}])
    status = status_of(a_pod, observed(run("a")))
    assert condition(status, "ContainersReady") == ("True", "")
    assert condition(status, "Ready") == ("False", "ReadinessGatesNotReady")
    a_pod["status"] = {"conditions": [{"type": "example.com/lb", "status": "True"}]}
    assert condition(status_of(a_pod, observed(run("a"))), "Ready") == ("True", "")


def test_a_refused_pod_fails_without_containers() -> None:
    verdict = Verdict("OutOfcpu", "too small")
    status = status_of(pod("a"), Observed(), verdict=verdict, ended=True)
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "OutOfcpu", "too small")
    assert "containerStatuses" not in status


def test_the_same_facts_give_the_same_status_and_no_write() -> None:
    seen = observed(run("a"))
    first = status_of(pod("a"), seen)
    later = pod_status(pod("a", status=first), seen, Known(now=NOW + timedelta(hours=1), host_ips=("192.0.2.1",)))
    assert later == first
    assert status_writer.patch_of(first, later) == {}


def test_a_finished_pod_keeps_its_status_when_its_containers_are_gone() -> None:
    final = status_of(pod("a", restart="Never"), observed(run("a", "exited")))
    assert status_of(pod("a", restart="Never", status=final), Observed(), ended=True) == final


def test_a_stopped_pod_keeps_the_address_it_had() -> None:
    running = status_of(pod("a"), observed(run("a")))
    stopped = status_of(pod("a", status=running), observed(run("a", "exited"), ready=False), ended=True)
    assert stopped["podIP"] == "10.0.0.1"
    assert condition(stopped, "PodReadyToStartContainers") == ("False", "")


def test_the_patch_names_only_what_changed_and_leaves_others_conditions_alone() -> None:
    scheduled = {"type": "PodScheduled", "status": "True"}
    before = status_of(pod("a", status={"conditions": [scheduled]}), observed())
    after = status_of(pod("a", status=before), observed(run("a")))
    patch = status_writer.patch_of(before, after)
    assert "PodScheduled" not in {entry["type"] for entry in patch["conditions"]}
    assert {"phase", "containerStatuses", "conditions"} == set(patch)
    assert patch["conditions"][0]["reason"] is None, "what a condition no longer says is taken back"


def test_a_new_address_replaces_the_old_one_although_the_list_is_merged() -> None:
    patch = status_writer.patch_of({"podIPs": [{"ip": "10.0.0.1"}]}, {"podIPs": [{"ip": "10.0.0.2"}]})
    assert patch["podIPs"] == [{"ip": "10.0.0.2"}, {"$patch": "replace"}]


def test_what_is_no_longer_true_is_taken_back() -> None:
    assert status_writer.patch_of({"reason": "Evicted", "phase": "Failed"}, {"phase": "Failed"}) == {"reason": None}


def test_before_the_first_init_container_all_containers_are_initializing() -> None:
    status = status_of(pod("a", init=("i",)), observed())
    states = [entry["state"] for entry in status["initContainerStatuses"] + status["containerStatuses"]]
    assert states == [{"waiting": {"reason": "PodInitializing"}}] * 2


def test_a_container_that_never_started_is_told_with_the_epoch() -> None:
    status = status_of(pod("a", restart="Never"), observed(run("a", "exited", code=128, started_at=None)))
    assert status["containerStatuses"][0]["state"]["terminated"]["startedAt"] == "1970-01-01T00:00:00Z"
