"""Which pods go first when a ReplicaSet shrinks (step C3).

In upstream's order of questions: unassigned before assigned; pending before unknown before running; not ready before
ready; lower deletion cost first; from the node with more of the same workload first; ready for a shorter time first;
more restarts first; younger first. Times are compared by the power of two of the age, so that which of several pods of
about one age goes is by chance (their uid) and not always the youngest.
Source: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset/#scaling-down-a-replicaset
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from apimachinery import clock, objects, pods
from apimachinery.objects import Object

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


def victims(owned: Sequence[Object], related: Iterable[Object], count: int, now: datetime) -> list[Object]:
    """The `count` pods of `owned` to delete. `related` are the pods of the whole workload, `owned` among them."""
    if count >= len(owned):
        return list(owned)
    per_node = Counter(_node(pod) for pod in related if pods.is_active(pod) and _node(pod))
    return sorted(owned, key=lambda pod: _rank(pod, per_node[_node(pod)], now))[:count]


def deletion_cost(pod: Object) -> int:
    """The annotation's value; 0 where there is none or it is no 32-bit integer."""
    text = objects.annotations_of(pod).get(DELETION_COST, "0")
    try:
        cost = int(text)
    except ValueError:
        return 0
    return cost if -(2**31) <= cost < 2**31 and text == str(cost) else 0


def _rank(pod: Object, same_node: int, now: datetime) -> tuple[Any, ...]:
    ready = pods.is_ready(pod)
    restarts, sidecar_restarts = _restarts(pod)
    return (
        bool(_node(pod)),
        _PHASE_ORDER.get(pods.phase_of(pod), 0),
        ready,
        deletion_cost(pod),
        -same_node,
        _age_power(_ready_since(pod), now) if ready else 0,
        -restarts,
        -sidecar_restarts,
        _age_power(pod["metadata"].get("creationTimestamp"), now),
        objects.uid_of(pod),
    )


def _node(pod: Object) -> str:
    return pod["spec"].get("nodeName") or ""


def _ready_since(pod: Object) -> str | None:
    ready = objects.condition(pod, "Ready") or {}
    return ready.get("lastTransitionTime")


def _age_power(since: str | None, now: datetime) -> int:
    """The power of two of the age in nanoseconds; an unknown age counts as the youngest."""
    if not since:
        return -1
    nanoseconds = (now - clock.parse_rfc3339(since)).total_seconds() * 1e9
    return int(math.log2(nanoseconds)) if nanoseconds >= 1 else -1


def _restarts(pod: Object) -> tuple[int, int]:
    """The highest restart count among the containers, and among the sidecars."""
    status = pod.get("status") or {}
    sidecars = {c["name"] for c in pod["spec"].get("initContainers") or [] if c.get("restartPolicy") == "Always"}
    regular = [int(c.get("restartCount") or 0) for c in status.get("containerStatuses") or []]
    beside = [
        int(c.get("restartCount") or 0) for c in status.get("initContainerStatuses") or [] if c["name"] in sidecars
    ]
    return max(regular, default=0), max(beside, default=0)
