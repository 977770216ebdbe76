"""Nodes and pods for tests, said in as few words as the case needs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

from apimachinery.objects import Object
from scheduler import config, cycle, nodeinfo, podinfo
from scheduler.cycle import Profile
from scheduler.decision import Decision
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot, facts_of


def pod(name: str = "p", *, cpu: str = "", memory: str = "", node: str = "", **spec: Any) -> Object:
    """A pod with one container. `labels`, `namespace`, `owner`, `created` go to its metadata, the rest to its spec."""
    metadata = {"name": name, "namespace": spec.pop("namespace", "default"), "uid": f"uid-{name}"}
    metadata["labels"] = spec.pop("labels", {})
    metadata["creationTimestamp"] = spec.pop("created", "2026-01-01T00:00:00Z")
    owner = spec.pop("owner", "")
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "kind": "ReplicaSet", "name": owner, "controller": True}]
    requests = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value}
    container = {"name": "c", "image": spec.pop("image", "nginx"), "resources": {"requests": requests}}
    if "host_port" in spec:
        container["ports"] = [{"containerPort": 80, "hostPort": spec.pop("host_port"), "hostIP": spec.pop("ip", "")}]
    if node:
        spec["nodeName"] = node
    return {"metadata": metadata, "spec": {"containers": [container], **spec}, "status": {}}


def node(name: str, *, cpu: str = "4", memory: str = "8Gi", pods: int = 110, **more: Any) -> Object:
    """A ready node. `labels`, `taints`, `unschedulable`, `images` (name → bytes)."""
    images = [{"names": [image], "sizeBytes": size} for image, size in more.pop("images", {}).items()]
    labels = {"kubernetes.io/hostname": name} | more.pop("labels", {})
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": str(pods)}, "images": images},
    }


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Object:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def snapshot(
    nodes: Iterable[Object], pods: Iterable[Object] = (), namespaces: Mapping[str, Mapping[str, str]] | None = None
) -> Snapshot:
    infos: dict[str, NodeInfo] = {one["metadata"]["name"]: nodeinfo.of(one) for one in nodes}
    for one in pods:
        name = one["spec"]["nodeName"]
        infos[name] = infos[name].with_pod(podinfo.of(one))
    labels = namespaces or {}
    return Snapshot(infos, facts_of(infos.values()), lambda name: labels.get(name, {}))


def default_profile() -> Profile:
    return config.default().profiles[0]


def decide(
    candidate: Object | PodInfo, nodes: Iterable[Object], pods: Iterable[Object] = (), profile: Profile | None = None
) -> Decision:
    info = candidate if isinstance(candidate, PodInfo) else podinfo.of(candidate)
    return cycle.schedule(info, snapshot(nodes, pods), profile or default_profile(), random.Random(1))
