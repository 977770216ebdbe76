"""What a ReplicaSet needs now, decided from it and its pods alone: pods to make, pods to delete, its status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apimachinery import clock, objects, pods
from apimachinery.objects import Object
from controllers.replicaset import ranking

BURST_REPLICAS = 500  # pods made or deleted in one reconcile, as upstream: the rest follows once these were observed


@dataclass(frozen=True, slots=True)
class Plan:
    """`create` pods to make, or `delete` pods to delete; never both."""

    create: int = 0
    delete: tuple[Object, ...] = ()

    def __str__(self) -> str:
        return f"create {self.create}, delete [{', '.join(objects.name_of(pod) for pod in self.delete)}]"


def plan_replicas(replicaset: Object, owned: Sequence[Object], related: Iterable[Object], now: datetime) -> Plan:
    """`owned` are the ReplicaSet's active pods, `related` those of the whole workload (its Deployment's)."""
    missing = wanted_replicas(replicaset) - len(owned)
    if missing > 0:
        return Plan(create=min(missing, BURST_REPLICAS))
    if missing < 0:
        return Plan(delete=tuple(ranking.victims(owned, related, min(-missing, BURST_REPLICAS), now)))
    return Plan()


def wanted_replicas(replicaset: Object) -> int:
    replicas = replicaset["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def status_of(
    replicaset: Object, active: Sequence[Object], terminating: int, failure: str | None, now: datetime
) -> Object:
    """The status to report. `failure` is what the last write said, None when all went well."""
    min_ready = int(replicaset["spec"].get("minReadySeconds") or 0)
    template_labels = ((replicaset["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
    status: Object = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(template_labels.items() <= objects.labels_of(pod).items() for pod in active),
        "readyReplicas": sum(map(pods.is_ready, active)),
        "availableReplicas": sum(pods.is_available(pod, min_ready, now) for pod in active),
        "observedGeneration": replicaset["metadata"].get("generation") or 0,
    }
    status = {name: count for name, count in status.items() if count or name == "replicas"}
    status["terminatingReplicas"] = terminating
    conditions = _conditions(replicaset, len(active), failure, now)
    if conditions:
        status["conditions"] = conditions
    return status


def next_available_seconds(replicaset: Object, active: Iterable[Object], now: datetime) -> float | None:
    """How long until the next ready pod has been ready for `minReadySeconds`; None when there is none to wait for."""
    min_ready = int(replicaset["spec"].get("minReadySeconds") or 0)
    waits = [
        min_ready - (now - clock.parse_rfc3339(ready["lastTransitionTime"])).total_seconds()
        for ready in (objects.condition(pod, "Ready") for pod in active)
        if ready is not None and ready.get("status") == "True" and ready.get("lastTransitionTime")
    ]
    return min((wait for wait in waits if wait > 0), default=None)


def _conditions(replicaset: Object, active: int, failure: str | None, now: datetime) -> list[dict[str, Any]]:
    conditions = list((replicaset.get("status") or {}).get("conditions") or [])
    if failure is None:
        return [entry for entry in conditions if entry.get("type") != "ReplicaFailure"]
    if objects.condition(replicaset, "ReplicaFailure") is not None:
        return conditions
    missing = wanted_replicas(replicaset) - active
    condition = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate" if missing > 0 else "FailedDelete",
        "message": failure,
        "lastTransitionTime": clock.rfc3339(now),
    }
    return [*conditions, condition] if missing else conditions
