"""A Service's Endpoints object, the older form, which lists ready and unready addresses by ports. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object
from controllers.endpoints import backends
from controllers.endpoints.backends import Backend, Ports

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
MANAGER = "endpoint-controller"
HEADLESS = "service.kubernetes.io/headless"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
ADDRESSES_MAX = 1000  # upstream's: an object has a size limit


def wanted(service: Object, found: Iterable[Backend], present: Object | None) -> Object:
    """The Endpoints as they shall be: `present` with our parts changed, or a new one."""
    listed = [backend for backend in found if backend.ready or not backend.terminating]
    labels = {k: v for k, v in objects.labels_of(service).items() if k != HEADLESS} | {MANAGED_BY: MANAGER}
    if backends.is_headless(service):
        labels[HEADLESS] = ""
    base = present or {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": objects.name_of(service), "namespace": objects.namespace_of(service)},
    }
    annotations = {k: v for k, v in objects.annotations_of(base).items() if k != OVER_CAPACITY}
    if len(listed) > ADDRESSES_MAX:
        annotations[OVER_CAPACITY] = "truncated"
    metadata = {**base["metadata"], "labels": labels}
    if annotations or "annotations" in metadata:
        metadata["annotations"] = annotations
    ready_first = sorted(listed, key=lambda backend: not backend.ready)[:ADDRESSES_MAX]
    return {**base, "metadata": metadata, "subsets": _subsets(service, ready_first)}


def _subsets(service: Object, listed: Iterable[Backend]) -> list[Object]:
    groups: dict[Ports, Object] = {}
    for backend in listed:
        if not backend.ports and not backends.is_headless(service):
            continue
        subset = groups.setdefault(backend.ports, {})
        field = "addresses" if backend.ready else "notReadyAddresses"
        subset.setdefault(field, []).append(_address(service, backend))
    return [subset | ({"ports": _ports(ports)} if ports else {}) for ports, subset in groups.items()]


def _address(service: Object, backend: Backend) -> Object:
    result: Object = {"ip": backend.address, "targetRef": backends.target_reference(backend.pod)}
    if backend.pod["spec"].get("nodeName"):
        result["nodeName"] = backend.pod["spec"]["nodeName"]
    name = backends.hostname(service, backend.pod)
    return result | ({"hostname": name} if name else {})


def _ports(ports: Ports) -> list[Any]:
    return [
        {"port": number, "protocol": protocol}
        | ({"name": name} if name else {})
        | ({"appProtocol": app} if app else {})
        for name, number, protocol, app in ports
    ]
