from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import Object
from controllers.job import members
from controllers.job import plan as planning
from controllers.job.plan import Plan
from tests.unit.controllers import builders
from tests.unit.controllers.builders import NOW, ago

FINALIZERS = [members.TRACKING_FINALIZER]


def job(status: Object | None = None, *, restart: str = "Never", **spec: Any) -> Object:
    template = {
        "metadata": {"labels": {"job": "pi"}},
        "spec": {"restartPolicy": restart, "containers": [{"name": "c"}]},
    }
    defaults = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "pi", "namespace": "default", "uid": "pi"},
        "spec": {k: v for k, v in (defaults | spec).items() if v is not None},
        "status": {"startTime": ago(100)} | (status or {}),
    }


def pod(name: str, phase: str = "Running", *, ended: float = 60, index: int | None = None, **metadata: Any) -> Object:
    """Held by the finalizer unless told; `ended` seconds ago, if it has."""
    metadata.setdefault("finalizers", FINALIZERS)
    if index is not None:
        metadata["annotations"] = {members.INDEX: str(index)}
    made = builders.pod(name, phase=phase, **metadata)
    if phase in ("Succeeded", "Failed"):
        code = 0 if phase == "Succeeded" else 1
        state = {"terminated": {"finishedAt": ago(ended), "exitCode": code}}
        made["status"]["containerStatuses"] = [{"name": "c", "state": state}]
    return made


def plan(subject: Object, *pods: Object) -> Plan:
    return planning.plan_job(subject, pods, NOW)


def condition_types(found: Plan) -> list[tuple[str, str]]:
    return [(entry["type"], entry["reason"]) for entry in found.status.get("conditions", [])]


def names(pods: tuple[Object, ...]) -> list[str]:
    return [made["metadata"]["name"] for made in pods]


@pytest.mark.parametrize(
    ("spec", "phases", "created"),
    [
        ({}, [], 1),
        ({"parallelism": 3, "completions": 5}, [], 3),
        ({"parallelism": 3, "completions": 5}, ["Running", "Succeeded"], 2),
        ({"parallelism": 3, "completions": 5}, ["Succeeded"] * 3, 2),  # no more than are still to succeed
        ({"parallelism": 3, "completions": 5}, ["Running"] * 3, 0),
        ({"parallelism": 0}, [], 0),
        ({"parallelism": 3, "completions": None}, [], 3),  # a work queue
        ({"parallelism": 3, "completions": None}, ["Succeeded", "Running"], 0),  # one is done: no new ones
        ({"parallelism": 900, "completions": 900}, [], 500),
    ],
)
def test_pods_are_made_up_to_what_is_wanted(spec: Object, phases: list[str], created: int) -> None:
    found = plan(job(**spec), *(pod(f"p{number}", phase) for number, phase in enumerate(phases)))
    assert len(found.create) == created
    assert found.delete == ()


def test_nothing_is_made_while_the_cache_is_behind() -> None:
    assert planning.plan_job(job(), [], NOW, may_create=False).create == ()


def test_an_end_is_counted_in_three_steps() -> None:
    # 1. the uid is noted, and the pod may be released after the write
    subject = job(completions=3)
    done = pod("a", "Succeeded")
    first = plan(subject, done)
    assert first.status["uncountedTerminatedPods"] == {"succeeded": ["a"]}
    assert "succeeded" not in first.status
    assert names(first.release) == ["a"]
    # 2. the cache still shows the finalizer: nothing is counted twice
    noted = {**subject, "status": first.status}
    second = plan(noted, done)
    assert second.status["uncountedTerminatedPods"] == {"succeeded": ["a"]}
    assert names(second.release) == ["a"]
    # 3. it is gone: the count rises
    third = plan(noted, {**done, "metadata": {**done["metadata"], "finalizers": []}})
    assert third.status["succeeded"] == 1
    assert third.status["uncountedTerminatedPods"] == {}
    assert third.release == ()


def test_a_noted_pod_that_vanished_is_counted() -> None:
    found = plan(job({"uncountedTerminatedPods": {"failed": ["a"]}}))
    assert found.status["failed"] == 1


def test_a_job_is_complete_when_all_is_counted_and_nothing_runs() -> None:
    done = pod("a", "Succeeded")
    first = plan(job(), done)
    assert condition_types(first) == [("SuccessCriteriaMet", "CompletionsReached")]
    noted = job(first.status)
    last = plan(noted, {**done, "metadata": {**done["metadata"], "finalizers": []}})
    assert condition_types(last) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert last.status["completionTime"] == ago(0)
    assert last.event == ("Normal", "Completed", "Job completed")
    assert planning.is_finished({**noted, "status": last.status})


def test_too_many_failures_end_the_job_and_its_pods() -> None:
    failures = [pod(f"f{number}", "Failed", ended=1000) for number in range(3)]
    found = plan(job(backoffLimit=2, completions=5, parallelism=2), *failures, pod("r"))
    assert condition_types(found) == [("FailureTarget", "BackoffLimitExceeded")]
    assert names(found.delete) == ["r"]
    assert found.create == ()


def test_a_failed_job_waits_for_its_pods_before_it_says_so() -> None:
    status = {
        "failed": 3,
        "conditions": [{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded", "message": "m"}],
    }
    going = pod("r", deletionTimestamp=ago(1))
    assert condition_types(plan(job(status), going)) == [("FailureTarget", "BackoffLimitExceeded")]
    found = plan(job(status))
    assert condition_types(found)[-1] == ("Failed", "BackoffLimitExceeded")
    assert found.event == ("Warning", "BackoffLimitExceeded", "m")


@pytest.mark.parametrize(("limit", "restarts", "ends"), [(2, 1, False), (2, 2, True), (0, 0, False), (0, 1, True)])
def test_restarts_count_where_pods_restart(limit: int, restarts: int, ends: bool) -> None:
    running = pod("r")
    running["status"]["containerStatuses"] = [{"name": "c", "restartCount": restarts}]
    found = plan(job(restart="OnFailure", backoffLimit=limit), running)
    assert bool(condition_types(found)) is ends


@pytest.mark.parametrize(
    ("failed_ago", "wait"),
    [
        ([3], 7.0),  # 10 s after the first failure
        ([15], None),
        ([40, 5], 15.0),  # 20 s after the second
        ([60, 50, 5], 35.0),
    ],
)
def test_each_failure_doubles_the_wait_for_the_next_pod(failed_ago: list[float], wait: float | None) -> None:
    failures = [pod(f"f{number}", "Failed", ended=ended) for number, ended in enumerate(failed_ago)]
    found = plan(job(), *failures)
    assert found.look_again_seconds == wait
    assert len(found.create) == (1 if wait is None else 0)


def test_a_success_ends_the_back_off() -> None:
    found = plan(job(completions=3), pod("f", "Failed", ended=5), pod("s", "Succeeded", ended=2))
    assert len(found.create) == 1


def test_the_deadline_ends_the_job() -> None:
    assert plan(job(activeDeadlineSeconds=130), pod("r")).look_again_seconds == pytest.approx(30.1)
    found = plan(job(activeDeadlineSeconds=100), pod("r"))
    assert condition_types(found) == [("FailureTarget", "DeadlineExceeded")]
    assert names(found.delete) == ["r"]


def test_a_suspended_job_runs_nothing_and_starts_anew_when_resumed() -> None:
    found = plan(job(suspend=True), pod("r"))
    assert names(found.delete) == ["r"]
    assert "startTime" not in found.status
    assert condition_types(found) == [("Suspended", "JobSuspended")]
    resumed = plan({**job(), "status": found.status})
    assert resumed.status["startTime"] == ago(0)
    assert condition_types(resumed) == [("Suspended", "JobResumed")]
    assert len(resumed.create) == 1


def test_fewer_are_wanted_so_some_go() -> None:
    running = [pod("a", ready_for=10), pod("b", phase="Pending"), pod("c", ready_for=10)]
    found = plan(job(parallelism=1, completions=3), *running)
    assert len(found.delete) == 2
    assert "b" in names(found.delete)


def test_a_deleted_pod_counts_as_failed_and_is_replaced() -> None:
    found = plan(job(), pod("gone", deletionTimestamp=ago(30)))
    assert found.status["uncountedTerminatedPods"] == {"failed": ["gone"]}
    assert len(found.create) == 1


def test_with_replacement_of_failed_pods_only_a_deleted_pod_is_waited_for() -> None:
    found = plan(job(podReplacementPolicy="Failed"), pod("going", deletionTimestamp=ago(1)))
    assert found.status["uncountedTerminatedPods"] == {}
    assert found.create == ()
    assert found.status["terminating"] == 1


def test_indexes_are_filled_lowest_first_and_each_succeeds_once() -> None:
    subject = job({"completedIndexes": "1"}, completionMode="Indexed", completions=5, parallelism=3)
    found = plan(subject, pod("a", index=0))
    assert found.create == (2, 3)
    again = plan(subject, pod("b", "Succeeded", index=1), pod("c", "Succeeded", index=0))
    assert again.status["completedIndexes"] == "0,1"
    assert again.status["uncountedTerminatedPods"] == {"succeeded": ["c"]}
    assert names(again.release) == ["b", "c"]


def test_an_index_that_runs_twice_is_cut_to_one() -> None:
    subject = job(completionMode="Indexed", completions=3, parallelism=3)
    found = plan(subject, pod("a", index=0), pod("b", index=0), pod("c", index=1))
    assert names(found.delete) == ["b"]


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}, "fail"),
        ({"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [1]}}, "count"),
        ({"action": "FailJob", "onExitCodes": {"containerName": "x", "operator": "In", "values": [1]}}, "count"),
        ({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}, "ignore"),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}}, "count"),
    ],
)
def test_the_failure_policy_decides_what_a_failure_means(rule: Object, outcome: str) -> None:
    failed = pod("f", "Failed")
    failed["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
    found = plan(job(podFailurePolicy={"rules": [rule]}), failed)
    assert [reason for _, reason in condition_types(found)] == (["PodFailurePolicy"] if outcome == "fail" else [])
    assert bool(found.status["uncountedTerminatedPods"]) is (outcome != "ignore")
    assert names(found.release) == ["f"]


@pytest.mark.parametrize(("text", "indexes"), [("", set()), ("3", {3}), ("0-2,5", {0, 1, 2, 5}), ("1,2", {1, 2})])
def test_intervals_are_read_and_written(text: str, indexes: set[int]) -> None:
    assert members.parse_intervals(text) == indexes
    assert members.render_intervals(indexes) == text


def test_an_indexed_pod_knows_its_index() -> None:
    made = members.new_pod(job(completionMode="Indexed", completions=3), 2)
    assert made["metadata"]["generateName"] == "pi-2-"
    assert made["metadata"]["annotations"] == {members.INDEX: "2"}
    assert made["metadata"]["labels"] == {"job": "pi", members.INDEX: "2"}
    assert made["metadata"]["finalizers"] == FINALIZERS
    assert made["spec"]["hostname"] == "pi-2"
    [variable] = made["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
