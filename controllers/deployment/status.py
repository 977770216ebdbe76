"""A Deployment's status: counts over its ReplicaSets, and the conditions Available, Progressing, ReplicaFailure.

Reasons and messages are upstream's; `kubectl rollout status` and `wait` read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from apimachinery import clock, objects
from apimachinery.objects import Object
from controllers.deployment import sizes

_NO_DEADLINE = 2**31 - 1  # what upstream writes for "never"


def deadline_seconds(deployment: Object) -> int | None:
    """`progressDeadlineSeconds`, None for never."""
    value = deployment["spec"].get("progressDeadlineSeconds")
    return None if value is None or value == _NO_DEADLINE else int(value)


def condition(kind: str, status: str, reason: str, message: str, now: datetime) -> Object:
    stamp = clock.rfc3339(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": stamp,
        "lastTransitionTime": stamp,
        "reason": reason,
        "message": message,
    }


def with_condition(conditions: list[Object], new: Object) -> list[Object]:
    """`conditions` with `new` in place of its type. The same status and reason change nothing, not even the message."""
    old = _find(conditions, new["type"])
    if old is not None and (old["status"], old.get("reason")) == (new["status"], new["reason"]):
        return conditions
    if old is not None and old["status"] == new["status"]:
        new = {**new, "lastTransitionTime": old.get("lastTransitionTime")}
    return [*without(conditions, new["type"]), new]


def without(conditions: list[Object], kind: str) -> list[Object]:
    return [entry for entry in conditions if entry["type"] != kind]


def with_paused_condition(deployment: Object, conditions: list[Object], now: datetime) -> list[Object]:
    """Notes a pause or its end, so that the time spent paused never counts as lack of progress."""
    if deadline_seconds(deployment) is None:
        return conditions
    progressing = _find(conditions, "Progressing")
    reason = None if progressing is None else progressing.get("reason")
    paused = bool(deployment["spec"].get("paused"))
    if reason == "ProgressDeadlineExceeded" or paused == (reason == "DeploymentPaused"):
        return conditions
    if paused:
        new = condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused", now)
    else:
        new = condition("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed", now)
    return with_condition(conditions, new)


def counted(
    deployment: Object, replicasets: Sequence[Object], new: Object | None, conditions: list[Object], now: datetime
) -> Object:
    """Status with counts and Available; the other `conditions` as they are."""
    wanted = sizes.replicas(deployment)
    available = sizes.total_status(replicasets, "availableReplicas")
    counts = {
        "observedGeneration": deployment["metadata"].get("generation") or 0,
        "replicas": sizes.total_status(replicasets, "replicas"),
        "updatedReplicas": 0 if new is None else sizes.status_count(new, "replicas"),
        "readyReplicas": sizes.total_status(replicasets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, sizes.total_replicas(replicasets) - available),
    }
    status: Object = {name: count for name, count in counts.items() if count}
    status["terminatingReplicas"] = sizes.total_status(replicasets, "terminatingReplicas")
    collisions = (deployment.get("status") or {}).get("collisionCount")
    if collisions is not None:
        status["collisionCount"] = collisions
    if available >= wanted - sizes.max_unavailable(deployment):
        met = condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
    else:
        met = condition(
            "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.", now
        )
    status["conditions"] = with_condition(conditions, met)
    return status


def with_progress(deployment: Object, status: Object, new: Object | None, old: Object, now: datetime) -> Object:
    """`status` with Progressing brought up to date; `old` is the status to compare with."""
    conditions = status["conditions"]
    current = _find(old.get("conditions") or [], "Progressing")
    if deadline_seconds(deployment) is None:
        return {**status, "conditions": without(conditions, "Progressing")}
    done_before = current is not None and current.get("reason") == "NewReplicaSetAvailable"
    if done_before and status.get("replicas", 0) == status.get("updatedReplicas", 0):
        return status
    subject = f'Deployment "{objects.name_of(deployment)}"' if new is None else f'ReplicaSet "{objects.name_of(new)}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        entry = condition("Progressing", "True", "NewReplicaSetAvailable", message, now)
    elif _has_moved(status, old):
        entry = condition("Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", now)
        if current is not None and current["status"] == "True":
            entry["lastTransitionTime"] = current.get("lastTransitionTime")
        conditions = without(conditions, "Progressing")  # so that lastUpdateTime moves with each step
    elif _has_timed_out(deployment, current, now):
        message = f"{subject} has timed out progressing."
        entry = condition("Progressing", "False", "ProgressDeadlineExceeded", message, now)
    else:
        return status
    return {**status, "conditions": with_condition(conditions, entry)}


def with_replica_failure(status: Object, replicasets: Sequence[Object], new: Object | None) -> Object:
    """`status` with ReplicaFailure taken over from a ReplicaSet, the new one's first."""
    ordered = ([new] if new is not None else []) + list(replicasets)
    failures = [found for rs in ordered if (found := objects.condition(rs, "ReplicaFailure")) is not None]
    if not failures:
        return {**status, "conditions": without(status["conditions"], "ReplicaFailure")}
    entry = {**failures[0], "lastUpdateTime": failures[0].get("lastTransitionTime")}
    return {**status, "conditions": with_condition(status["conditions"], entry)}


def is_complete(deployment: Object, status: Object) -> bool:
    """All replicas are of the new template and available, and no old one is left."""
    wanted = sizes.replicas(deployment)
    counts = [status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas")]
    observed = status.get("observedGeneration", 0) >= (deployment["metadata"].get("generation") or 0)
    return observed and all(count == wanted for count in counts)


def recheck_seconds(deployment: Object, status: Object, now: datetime) -> float | None:
    """When to look again whether the rollout is stuck; None when it cannot be."""
    deadline = deadline_seconds(deployment)
    current = _find(status.get("conditions") or [], "Progressing")
    if deadline is None or current is None or is_complete(deployment, status):
        return None
    if current.get("reason") in ("ProgressDeadlineExceeded", "NewReplicaSetAvailable") or deployment["spec"].get(
        "paused"
    ):
        return None
    until = clock.parse_rfc3339(current["lastUpdateTime"]) + timedelta(seconds=deadline)
    return max(0.0, (until - now).total_seconds()) + 1  # stamps are whole seconds


def _has_moved(status: Object, old: Object) -> bool:
    def count(source: Object, name: str) -> int:
        return int(source.get(name) or 0)

    outdated = count(status, "replicas") - count(status, "updatedReplicas")
    outdated_before = count(old, "replicas") - count(old, "updatedReplicas")
    grown = any(count(status, n) > count(old, n) for n in ("updatedReplicas", "readyReplicas", "availableReplicas"))
    return grown or outdated < outdated_before


def _has_timed_out(deployment: Object, current: Object | None, now: datetime) -> bool:
    deadline = deadline_seconds(deployment)
    if current is None or deadline is None or current.get("reason") == "NewReplicaSetAvailable":
        return False
    if current.get("reason") == "ProgressDeadlineExceeded":
        return True
    return clock.parse_rfc3339(current["lastUpdateTime"]) + timedelta(seconds=deadline) < now


def _find(conditions: list[Object], kind: str) -> Object | None:
    return next((entry for entry in conditions if entry.get("type") == kind), None)
