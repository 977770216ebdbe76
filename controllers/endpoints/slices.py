"""A Service's EndpointSlices: which to make, change and delete so that they hold its backends. Pure.

An endpoint stays in the slice it is in, new ones fill the gaps, so that a change of one pod rewrites one slice. A
Service without backends keeps one empty slice: readers can tell "none" from "not known yet".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apimachinery import objects
from apimachinery.objects import Object
from controllers.endpoints import backends
from controllers.endpoints.backends import Backend, Ports
from controllers.podtemplate import generate_name

ENDPOINTS_MAX = 100  # in one slice, upstream's default
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
MANAGER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"


@dataclass(slots=True)
class Plan:
    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)


def plan_slices(service: Object, found: Sequence[Backend], family: str, present: Sequence[Object]) -> Plan:
    """`present` are the Service's slices of that address family."""
    plan, rest = Plan(), list(present)
    groups: dict[Ports, list[Backend]] = {}
    for backend in found:
        groups.setdefault(backend.ports, []).append(backend)
    for ports, members in groups.items():
        rendered = _ports(ports)
        own = [entry for entry in rest if (entry.get("ports") or []) == rendered]
        rest = [entry for entry in rest if entry not in own]
        rest += _fill(plan, service, family, rendered, [endpoint(service, member) for member in members], own)
    _dispose(plan, service, family, rest, keep_one=not groups)
    return plan


def endpoint(service: Object, backend: Backend) -> Object:
    result: Object = {
        "addresses": [backend.address],
        "conditions": {"ready": backend.ready, "serving": backend.serving, "terminating": backend.terminating},
        "targetRef": backends.target_reference(backend.pod),
    }
    if backend.pod["spec"].get("nodeName"):
        result["nodeName"] = backend.pod["spec"]["nodeName"]
    name = backends.hostname(service, backend.pod)
    return result | ({"hostname": name} if name else {})


def _fill(
    plan: Plan, service: Object, family: str, ports: list[Any], wanted: list[Object], own: list[Object]
) -> list[Object]:
    """Puts `wanted` into the slices `own`, and new ones; returns the slices that are left over."""
    missing = {_uid(entry): entry for entry in wanted}
    kept: list[tuple[Object, list[Object]]] = []
    for present in own:
        staying = [missing.pop(_uid(e)) for e in present.get("endpoints") or [] if _uid(e) in missing]
        kept.append((present, staying))
    left = []
    for present, endpoints in sorted(kept, key=lambda pair: len(pair[1]), reverse=True):
        while missing and len(endpoints) < ENDPOINTS_MAX:
            endpoints.append(missing.pop(next(iter(missing))))
        if endpoints:
            _update(plan, service, present, endpoints)
        else:
            left.append(present)
    while missing:
        batch = [missing.pop(uid) for uid in list(missing)[:ENDPOINTS_MAX]]
        if left:
            _update(plan, service, left.pop(), batch)
        else:
            plan.create.append(_new(service, family, ports, batch))
    return left


def _dispose(plan: Plan, service: Object, family: str, rest: list[Object], *, keep_one: bool) -> None:
    if keep_one and not rest:
        plan.create.append(_new(service, family, [], []))
    elif keep_one:
        _update(plan, service, {**rest.pop(0), "ports": []}, [])
    plan.delete += rest


def _update(plan: Plan, service: Object, present: Object, endpoints: list[Object]) -> None:
    labels = _labels(service)
    changed = {**present, "metadata": {**present["metadata"], "labels": labels}, "endpoints": endpoints}
    if (present.get("endpoints") or []) != endpoints or objects.labels_of(present) != labels:
        plan.update.append(changed)


def _new(service: Object, family: str, ports: list[Any], endpoints: list[Object]) -> Object:
    name = objects.name_of(service)
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": generate_name(name),
            "namespace": objects.namespace_of(service),
            "labels": _labels(service),
            "ownerReferences": [objects.controller_reference(service)],
        },
        "addressType": family,
        "ports": ports,
        "endpoints": endpoints,
    }


def _labels(service: Object) -> dict[str, str]:
    """The Service's labels and ours."""
    ours = {SERVICE_NAME: objects.name_of(service), MANAGED_BY: MANAGER}
    headless = {HEADLESS: ""} if backends.is_headless(service) else {}
    return {k: v for k, v in objects.labels_of(service).items() if k != HEADLESS} | ours | headless


def _ports(ports: Ports) -> list[Any]:
    return [
        {"name": name, "port": number, "protocol": protocol} | ({"appProtocol": app} if app else {})
        for name, number, protocol, app in ports
    ]


def _uid(entry: Object) -> str:
    return str((entry.get("targetRef") or {}).get("uid"))
