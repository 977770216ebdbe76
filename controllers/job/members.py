"""A Job's pods: how each stands, when it ended, which index it has, and how a new one is made."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from apimachinery import clock, objects, pods
from apimachinery.objects import Object
from controllers import podtemplate

TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
_INDEX_VARIABLE = "JOB_COMPLETION_INDEX"
_HOSTNAME_LENGTH_MAX = 63


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def replaces_only_failed(job: Object) -> bool:
    """Whether a pod that is being deleted is replaced only when it has ended (`podReplacementPolicy: Failed`)."""
    policy = job["spec"].get("podReplacementPolicy")
    return policy == "Failed" or (policy is None and job["spec"].get("podFailurePolicy") is not None)


def is_tracked(pod: Object) -> bool:
    """Whether the pod's end is still to be counted: the finalizer holds it until then."""
    return TRACKING_FINALIZER in (pod["metadata"].get("finalizers") or [])


def has_succeeded(pod: Object) -> bool:
    return pods.phase_of(pod) == "Succeeded"


def has_failed(job: Object, pod: Object) -> bool:
    """Failed, or being deleted before it ended, where such a pod is replaced at once."""
    if pods.phase_of(pod) == "Failed":
        return True
    return not replaces_only_failed(job) and objects.is_deleting(pod) and not has_succeeded(pod)


def is_terminating(pod: Object) -> bool:
    return objects.is_deleting(pod) and not pods.is_terminal(pod)


def finished_at(pod: Object) -> datetime | None:
    """When its last container ended, or else when it stopped being ready, or was deleted."""
    status = pod.get("status") or {}
    ends = [
        (container.get("state") or {}).get("terminated", {}).get("finishedAt")
        for container in [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    ]
    ready = objects.condition(pod, "Ready") or {}
    fallback = ready.get("lastTransitionTime") or pod["metadata"].get("deletionTimestamp")
    known = [clock.parse_rfc3339(end) for end in ends if end]
    if known:
        return max(known)
    return clock.parse_rfc3339(fallback) if fallback else None


def restarts(members: Iterable[Object]) -> int:
    """All container restarts of pods that still run (for `restartPolicy: OnFailure`)."""
    return sum(
        int(container.get("restartCount") or 0)
        for pod in members
        if pods.phase_of(pod) in ("Running", "Pending")
        for field in ("containerStatuses", "initContainerStatuses")
        for container in (pod.get("status") or {}).get(field) or []
    )


def index_of(pod: Object) -> int | None:
    text = objects.annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdecimal() else None


def new_pod(job: Object, index: int | None) -> Object:
    """A pod of the Job's template, held by the tracking finalizer; with its index where pods have one."""
    pod = podtemplate.pod_for(job, job["spec"]["template"])
    metadata = pod["metadata"]
    metadata["finalizers"] = [*metadata.get("finalizers", []), TRACKING_FINALIZER]
    if index is None:
        return pod
    name = f"{objects.name_of(job)}-{index}"
    metadata["generateName"] = podtemplate.generate_name(name)
    metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(index)}
    metadata["labels"] = {**metadata["labels"], INDEX: str(index)}
    spec = dict(pod["spec"])
    if not spec.get("hostname") and len(name) <= _HOSTNAME_LENGTH_MAX:
        spec["hostname"] = name
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_with_index_variable(container) for container in spec[field]]
    return {**pod, "spec": spec}


def _with_index_variable(container: Object) -> Object:
    env = container.get("env") or []
    if any(variable["name"] == _INDEX_VARIABLE for variable in env):
        return container
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*env, {"name": _INDEX_VARIABLE, "valueFrom": source}]}


def parse_intervals(text: str | None) -> set[int]:
    """`"0-2,5"` → {0, 1, 2, 5}: the form of `status.completedIndexes`."""
    result: set[int] = set()
    for part in filter(None, (text or "").split(",")):
        first, dash, last = part.partition("-")
        result.update(range(int(first), int(last if dash else first) + 1))
    return result


def render_intervals(indexes: Iterable[int]) -> str:
    parts: list[list[int]] = []
    for index in sorted(set(indexes)):
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(
        f"{first}" if first == last else f"{first}{',' if last == first + 1 else '-'}{last}" for first, last in parts
    )
