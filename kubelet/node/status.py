"""The Node object: what is registered, and the status that is kept true. Pure.

Guarantees: the Ready condition says why it is not; conditions keep their transition times; labels, taints and fields
that others own (podCIDR, annotations) are never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from apimachinery import clock, objects
from apimachinery.objects import Object
from kubelet.node import machine

VERSION = "v1.37.0"  # the API this node speaks
MEMORY_FLOOR_BYTES = 100 * 1024 * 1024  # upstream's default eviction thresholds
DISK_FLOOR = Decimal("0.10")
PIDS_CEILING = Decimal("0.9")
_PLENTY = machine.Memory(2**40, 2**40)
IMAGES_MAX = 50  # upstream's node-status-max-images: the status must stay small


@dataclass(frozen=True, slots=True)
class Health:
    """What the conditions are made from."""

    runtime_problem: str = ""
    network_problem: str = ""
    memory: machine.Memory = _PLENTY
    disk: tuple[int, int] = (1, 1)
    pids: tuple[int, int] = (0, 1)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the node is."""

    name: str
    addresses: tuple[str, ...]
    port: int
    capacity: dict[str, Decimal]
    allocatable: dict[str, Decimal]
    system: dict[str, str]
    runtime_version: str
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[dict[str, str], ...] = ()


def registration(facts: Facts) -> Object:
    """The Node to create."""
    own = {
        "kubernetes.io/hostname": facts.name,
        "kubernetes.io/os": facts.system["operatingSystem"],
        "kubernetes.io/arch": facts.system["architecture"],
        "beta.kubernetes.io/os": facts.system["operatingSystem"],
        "beta.kubernetes.io/arch": facts.system["architecture"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": facts.name, "labels": own | facts.labels},
        "spec": {"taints": list(facts.taints)} if facts.taints else {},
    }


def node_status(facts: Facts, health: Health, images: Sequence[Any], old: Object, now: datetime) -> Object:
    """The whole status the kubelet owns."""
    conditions: list[Object] = (old.get("status") or {}).get("conditions") or []
    for entry in _conditions(health):
        stamps = {"lastHeartbeatTime": clock.rfc3339(now), "lastTransitionTime": clock.rfc3339(now)}
        conditions = objects.set_condition(conditions, entry | stamps)
    addresses = [{"type": "InternalIP", "address": address} for address in facts.addresses]
    return {
        "capacity": machine.as_quantities(facts.capacity),
        "allocatable": machine.as_quantities(facts.allocatable),
        "conditions": conditions,
        "addresses": [*addresses, {"type": "Hostname", "address": facts.name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": facts.port}},
        "nodeInfo": facts.system
        | {"containerRuntimeVersion": facts.runtime_version, "kubeletVersion": VERSION, "kubeProxyVersion": ""},
        "images": _images(images),
    }


def is_same(old: Object, new: Object) -> bool:
    """Whether only heartbeats differ: then the lease says enough."""
    return _without_heartbeats(old) == _without_heartbeats(new)


def _without_heartbeats(status: Object) -> Object:
    conditions = [
        {key: value for key, value in entry.items() if key != "lastHeartbeatTime"}
        for entry in status.get("conditions") or []
    ]
    return {key: status.get(key) for key in _OWN} | {"conditions": conditions}


_OWN = ("capacity", "allocatable", "addresses", "daemonEndpoints", "nodeInfo", "images")


def _conditions(health: Health) -> list[Object]:
    free, total = health.disk
    running, possible = health.pids
    low_memory = health.memory.available_bytes < MEMORY_FLOOR_BYTES
    return [
        _pressure("MemoryPressure", low_memory, "InsufficientMemory", "SufficientMemory", "memory available"),
        _pressure("DiskPressure", free < DISK_FLOOR * total, "DiskPressure", "NoDiskPressure", "disk pressure"),
        _pressure(
            "PIDPressure",
            running > PIDS_CEILING * max(possible, 1),
            "InsufficientPID",
            "SufficientPID",
            "PID available",
        ),
        _ready(health),
    ]


def _pressure(kind: str, pressed: bool, bad: str, good: str, words: str) -> Object:
    """`kubelet has insufficient memory available`, `kubelet has no disk pressure`, …"""
    if bad == "DiskPressure":
        said = words if pressed else f"no {words}"
    else:
        said = f"insufficient {words}" if pressed else f"sufficient {words}"
    reason = bad if pressed else good
    return {
        "type": kind,
        "status": "True" if pressed else "False",
        "reason": f"KubeletHas{reason}",
        "message": f"kubelet has {said}",
    }


def _ready(health: Health) -> Object:
    problems = []
    if health.runtime_problem:
        problems.append(f"container runtime is down: {health.runtime_problem}")
    if health.network_problem:
        problems.append(f"container runtime network not ready: {health.network_problem}")
    if problems:
        said = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        return {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": said}
    return {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}


def _images(images: Sequence[Any]) -> list[Object]:
    listed = sorted(images, key=lambda image: -image.size)[:IMAGES_MAX]
    return [{"names": [*image.repo_digests, *image.repo_tags], "sizeBytes": image.size} for image in listed]
