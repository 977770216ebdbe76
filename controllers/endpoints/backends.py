"""The pods behind a Service as addresses and ports: what EndpointSlices and Endpoints are both written from. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

from apimachinery import objects, pods
from apimachinery.objects import Object

Ports = tuple[tuple[str, int, str, str], ...]
"""(name, number, protocol, appProtocol) of each port, in the Service's order."""


@dataclass(frozen=True, slots=True)
class Backend:
    """One pod at one address. `ready` is what Services go by; `serving` says it of a pod that is being deleted too."""

    address: str
    ports: Ports
    pod: Object
    ready: bool
    serving: bool
    terminating: bool


def has_selector(service: Object) -> bool:
    """Whether its backends are ours to find. Without a selector, somebody else writes them."""
    spec = service.get("spec") or {}
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def is_headless(service: Object) -> bool:
    return bool(service["spec"].get("clusterIP") == "None")


def address_types(service: Object) -> list[str]:
    return list(service["spec"].get("ipFamilies") or ["IPv4"])


def backends(service: Object, candidates: Iterable[Object], family: str) -> list[Backend]:
    """`candidates` are the pods that the selector matches."""
    publish_all = bool(service["spec"].get("publishNotReadyAddresses"))
    result = []
    for pod in candidates:
        address = _address(pod, family)
        if not address or pods.is_terminal(pod):
            continue
        terminating, serving = objects.is_deleting(pod), pods.is_ready(pod)
        ready = publish_all or (serving and not terminating)
        result.append(Backend(address, ports_of(service, pod), pod, ready, serving, terminating))
    return sorted(result, key=lambda backend: objects.name_of(backend.pod))


def ports_of(service: Object, pod: Object) -> Ports:
    """The Service's ports as this pod has them. A named port that the pod does not have is left out."""
    result = []
    for port in service["spec"].get("ports") or []:
        protocol = port.get("protocol") or "TCP"
        number = _target(port, pod, protocol)
        if number is not None:
            result.append((port.get("name") or "", number, protocol, port.get("appProtocol") or ""))
    return tuple(result)


def target_reference(pod: Object) -> Object:
    return {
        "kind": "Pod",
        "namespace": objects.namespace_of(pod),
        "name": objects.name_of(pod),
        "uid": objects.uid_of(pod),
    }


def hostname(service: Object, pod: Object) -> str:
    """The pod's own DNS name below a headless Service of its subdomain; "" where it has none."""
    spec = pod["spec"]
    return spec.get("hostname") or "" if spec.get("subdomain") == objects.name_of(service) else ""


def _target(port: Object, pod: Object, protocol: str) -> int | None:
    target = port.get("targetPort")
    if target is None or target == 0:
        return int(port["port"])
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or [] if c.get("restartPolicy") == "Always"]
    for container in [*(spec.get("containers") or []), *sidecars]:
        for offered in container.get("ports") or []:
            if offered.get("name") == target and (offered.get("protocol") or "TCP") == protocol:
                return int(offered["containerPort"])
    return None


def _address(pod: Object, family: str) -> str:
    status = pod.get("status") or {}
    every = [entry["ip"] for entry in status.get("podIPs") or [] if entry.get("ip")] or [status.get("podIP")]
    version = 6 if family == "IPv6" else 4
    return next((text for text in every if text and ipaddress.ip_address(text).version == version), "")
