"""Objects for tests, with only what the code under test reads."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from apimachinery import clock
from apimachinery.objects import Object

NOW = datetime.fromisoformat("2026-01-01T12:00:00+00:00")


def ago(seconds: float) -> str:
    return clock.rfc3339(NOW - timedelta(seconds=seconds))


def pod(name: str, *, phase: str = "Running", ready_for: float | None = None, **metadata: Any) -> Object:
    """`ready_for`: seconds since it became ready; None: it is not."""
    conditions = []
    if ready_for is not None:
        conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": ago(ready_for)})
    node = metadata.pop("node", "n1")
    age = metadata.pop("age", 3600)
    spec: Object = {"containers": [{"name": "c"}]} | ({"nodeName": node} if node else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name, "creationTimestamp": ago(age)} | metadata,
        "spec": spec,
        "status": {"phase": phase, "conditions": conditions},
    }


def owned_by(obj: Object, *owners: str, kind: str = "ReplicaSet", block: bool = False) -> Object:
    """The same object with these owners; the first is its controller."""
    references = [
        {
            "apiVersion": "apps/v1",
            "kind": kind,
            "name": owner,
            "uid": owner,
            "controller": number == 0,
            "blockOwnerDeletion": block,
        }
        for number, owner in enumerate(owners)
    ]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": references}}


def replicaset(replicas: int, **spec: Any) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default", "uid": "web", "generation": 2},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {}}} | spec,
    }


def node(name: str = "n1", *, ready: str = "True", taints: list[Object] | None = None, **conditions: str) -> Object:
    entries = [{"type": kind, "status": status} for kind, status in ({"Ready": ready} | conditions).items() if status]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": ago(7200)},
        "spec": {"taints": taints} if taints else {},
        "status": {"conditions": entries},
    }
