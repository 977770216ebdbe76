"""What the scheduler needs to know of a pod, worked out once a version: numbers instead of quantities.

Resources are whole numbers: CPU in thousandths, everything else in its own unit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, NamedTuple

import orjson

from apimachinery import objects, pods
from apimachinery.objects import Key, Object
from scheduler import podterm
from scheduler.podterm import Terms

DEFAULT_SCHEDULER = "default-scheduler"

# What a container without requests is taken to need when nodes are compared, so that such pods spread. Upstream's.
_NONZERO = {"cpu": "100m", "memory": "200Mi"}


_LOCAL_FIELDS = ("nodeName", "nodeSelector", "affinity", "tolerations", "overhead", "resources")


class HostPort(NamedTuple):
    ip: str
    protocol: str
    port: int

    def conflicts_with(self, other: HostPort) -> bool:
        """The same port and protocol on the same address, or on all addresses."""
        same = (self.protocol, self.port) == (other.protocol, other.port)
        return same and (self.ip == other.ip or "0.0.0.0" in (self.ip, other.ip))


@dataclass(frozen=True, slots=True, eq=False)
class PodInfo:
    """A pod, and the numbers the plugins ask for. Compared by identity: one version of one pod."""

    obj: Object
    key: Key
    uid: str
    priority: int
    requests: Mapping[str, int]
    nonzero: Mapping[str, int]  # CPU and memory, with defaults for containers that ask for none
    host_ports: tuple[HostPort, ...]
    labels: Mapping[str, str]
    node_name: str
    scheduler_name: str
    controller: str  # uid of the controlling owner, "" without one
    terms: Terms  # of pod affinity and anti-affinity
    local_shape: bytes  # pods of the same one are the same to every plugin that looks at a node alone
    identity: bytes  # pods of the same one are the same to their neighbours
    shape: bytes  # pods of the same one are the same to every plugin
    is_deleting: bool

    @property
    def spec(self) -> Object:
        spec: Object = self.obj["spec"]
        return spec

    @property
    def affinity(self) -> Object:
        affinity: Object = self.obj["spec"].get("affinity") or {}
        return affinity

    @property
    def minds_neighbours(self) -> bool:
        """Whether it has an opinion about the pods around it."""
        return self.terms is not podterm.NO_TERMS

    @property
    def started_at(self) -> str:
        """When it began to run, or to exist; stamps of one form sort as text."""
        started = (self.obj.get("status") or {}).get("startTime")
        return str(started or self.obj["metadata"].get("creationTimestamp") or "")

    @property
    def nominated_node(self) -> str:
        """The node on which room is being made for it."""
        return str((self.obj.get("status") or {}).get("nominatedNodeName") or "")


def of(pod: Object) -> PodInfo:
    spec, labels, key = pod["spec"], objects.labels_of(pod), objects.key_of(pod)
    controller = (objects.controller_of(pod) or {}).get("uid", "")
    local_shape = _digest([spec.get(field) for field in _LOCAL_FIELDS], [_local(c) for c in _containers(spec)])
    identity = _digest(key.namespace, labels)
    return PodInfo(
        obj=pod,
        key=key,
        uid=objects.uid_of(pod),
        priority=spec.get("priority") or 0,
        requests=_whole(pods.requests(pod)),
        nonzero=_whole(pods.requests(_with_defaults(pod))),
        host_ports=tuple(_host_ports(spec)),
        labels=labels,
        node_name=spec.get("nodeName") or "",
        scheduler_name=spec.get("schedulerName") or DEFAULT_SCHEDULER,
        controller=controller,
        terms=podterm.terms_of(spec.get("affinity") or {}, key.namespace, labels),
        local_shape=local_shape,
        identity=identity,
        shape=local_shape + identity + _digest(spec.get("topologySpreadConstraints"), controller),
        is_deleting=objects.is_deleting(pod),
    )


def _containers(spec: Object) -> list[Object]:
    return [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]


def _local(container: Object) -> list[Any]:
    return [container.get(field) for field in ("image", "resources", "ports", "restartPolicy")]


def _digest(*values: Any) -> bytes:
    return hashlib.blake2b(orjson.dumps(values, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def whole(name: str, value: Decimal) -> int:
    """A quantity of a resource as a whole number, rounded up."""
    return int((value * 1000 if name == "cpu" else value).to_integral_value(ROUND_CEILING))


def _whole(requests: Mapping[str, Decimal]) -> dict[str, int]:
    return {name: number for name, value in requests.items() if (number := whole(name, value))}


def _with_defaults(pod: Object) -> Object:
    """The pod as if every container asked for CPU and memory. Only what `pods.requests` reads is there."""
    spec = pod["spec"]
    filled = {key: [_filled(c) for c in spec.get(key) or []] for key in ("containers", "initContainers")}
    rest = {key: spec[key] for key in ("overhead", "resources") if key in spec}
    return {"metadata": pod["metadata"], "spec": {**filled, **rest}}


def _filled(container: Object) -> Object:
    asked = (container.get("resources") or {}).get("requests") or {}
    return {"restartPolicy": container.get("restartPolicy"), "resources": {"requests": _NONZERO | asked}}


def _host_ports(spec: Object) -> list[HostPort]:
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    return [
        HostPort(port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in [*(spec.get("containers") or []), *sidecars]
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]
