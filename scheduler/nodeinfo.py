"""A node with the pods on it, as one immutable value: what filters and scores look at.

A change makes a new value, so a snapshot stays as it was taken, and a decision can be made again from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from apimachinery import imagenames, objects, quantity
from apimachinery.objects import Object
from scheduler import podinfo
from scheduler.podinfo import HostPort, PodInfo

_PODS_DEFAULT = 110  # a node that does not say how many pods it takes; the kubelet always says


@dataclass(frozen=True, slots=True, eq=False)
class NodeInfo:
    """Sums are kept with the pods, never worked out again. Compared by identity: one state of one node."""

    obj: Object
    name: str
    labels: Mapping[str, str]
    taints: tuple[Object, ...]
    unschedulable: bool
    allocatable: Mapping[str, int]
    images: Mapping[str, int]  # full name → bytes
    pods: Mapping[str, PodInfo] = field(default_factory=dict)  # by uid
    minding: Mapping[str, PodInfo] = field(default_factory=dict)  # those of them with pod (anti-)affinity
    controllers: Mapping[str, int] = field(default_factory=dict)  # uid → how many of its pods are here to stay
    requested: Mapping[str, int] = field(default_factory=dict)
    nonzero: Mapping[str, int] = field(default_factory=dict)
    host_ports: tuple[HostPort, ...] = ()

    def with_pod(self, pod: PodInfo) -> NodeInfo:
        """With the pod on it; a former version of the pod is replaced."""
        base = self.without_pod(pod.uid) if pod.uid in self.pods else self
        return replace(
            base,
            pods={**base.pods, pod.uid: pod},
            minding={**base.minding, pod.uid: pod} if pod.minds_neighbours else base.minding,
            controllers=_add(base.controllers, _owned(pod), 1),
            requested=_add(base.requested, pod.requests, 1),
            nonzero=_add(base.nonzero, pod.nonzero, 1),
            host_ports=base.host_ports + pod.host_ports,
        )

    def without_pod(self, uid: str) -> NodeInfo:
        pod = self.pods.get(uid)
        if pod is None:
            return self
        others = {other: info for other, info in self.pods.items() if other != uid}
        return replace(
            self,
            pods=others,
            minding={uid: info for uid, info in others.items() if info.minds_neighbours} if self.minding else {},
            controllers=_add(self.controllers, _owned(pod), -1),
            requested=_add(self.requested, pod.requests, -1),
            nonzero=_add(self.nonzero, pod.nonzero, -1),
            host_ports=tuple(port for info in others.values() for port in info.host_ports),
        )

    def with_node(self, node: Object) -> NodeInfo:
        """The same pods on a newer version of the node."""
        fresh = of(node)
        kept = {
            name: getattr(self, name)
            for name in ("pods", "minding", "controllers", "requested", "nonzero", "host_ports")
        }
        return replace(fresh, **kept)


def of(node: Object) -> NodeInfo:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    return NodeInfo(
        obj=node,
        name=objects.name_of(node),
        labels=objects.labels_of(node),
        taints=tuple(spec.get("taints") or ()),
        unschedulable=bool(spec.get("unschedulable")),
        allocatable={"pods": _PODS_DEFAULT}
        | {name: podinfo.whole(name, quantity.parse(value)) for name, value in allocatable.items()},
        images={
            imagenames.normalized(name): image.get("sizeBytes") or 0
            for image in status.get("images") or []
            for name in image.get("names") or []
        },
    )


def _add(sums: Mapping[str, int], amounts: Mapping[str, int], sign: int) -> dict[str, int]:
    result = dict(sums)
    for name, amount in amounts.items():
        result[name] = result.get(name, 0) + sign * amount
        if not result[name]:
            del result[name]
    return result


def _owned(pod: PodInfo) -> dict[str, int]:
    return {pod.controller: 1} if pod.controller and not pod.is_deleting else {}
