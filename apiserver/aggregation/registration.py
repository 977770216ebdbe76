"""The APIServices of what is served here: one a group-version, made without being asked (A1).

Built-in group-versions get theirs once, at the start, with upstream's priorities; those of custom resources come and go
with their definitions. An APIService that somebody else made for one of them is left alone: it may lead elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from apimachinery.objects import Object

GROUP, KIND = "apiregistration.k8s.io", "APIService"
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
AT_START, ALWAYS = "onstart", "true"
_CUSTOM = (1000, 100)
_OTHER_BUILTIN = (15000, 15)  # a group that the table below does not name
# Group → the priority of the group; upstream's order of discovery
_GROUPS = {
    "": 18000,
    "apps": 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    "autoscaling": 17500,
    "batch": 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    "policy": 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "resource.k8s.io": 15900,
    "storagemigration.k8s.io": 15800,
}
# Versions whose priority is not the usual 15 of a v1
_VERSIONS = {("", "v1"): 1, ("autoscaling", "v2"): 30, ("autoscaling", "v1"): 15}


class Served(NamedTuple):
    """A group-version that is served here."""

    group: str
    version: str
    is_custom: bool


class Plan(NamedTuple):
    """What to do about the APIServices."""

    create: list[Object]
    delete: list[str]  # names


def plan(served: Iterable[Served], existing: Iterable[Object], *, starting: bool) -> Plan:
    """What is missing, and which of ours nobody needs any more. Built-in ones come back only at a start."""
    there = {obj["metadata"]["name"]: obj for obj in existing}
    wanted = {name_of(item.group, item.version): item for item in served}
    create = [wish(item) for name, item in wanted.items() if name not in there and (starting or item.is_custom)]
    delete = [name for name, obj in there.items() if name not in wanted and _is_ours(obj)]
    return Plan(create, delete)


def name_of(group: str, version: str) -> str:
    return f"{version}.{group}"


def wish(item: Served) -> Object:
    group_priority, version_priority = priorities(item)
    spec: Object = {
        "version": item.version,
        "groupPriorityMinimum": group_priority,
        "versionPriority": version_priority,
    }
    if item.group:
        spec["group"] = item.group
    labels = {MANAGED: ALWAYS if item.is_custom else AT_START}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": name_of(item.group, item.version), "labels": labels},
        "spec": spec,
    }


def priorities(item: Served) -> tuple[int, int]:
    if item.is_custom:
        return _CUSTOM
    group = _GROUPS.get(item.group)
    if group is None:
        return _OTHER_BUILTIN
    usual = 15 if item.version == "v1" else 9 if "beta" in item.version else 1 if "alpha" in item.version else 15
    return group, _VERSIONS.get((item.group, item.version), usual)


def _is_ours(obj: Object) -> bool:
    labels = obj["metadata"].get("labels") or {}
    return labels.get(MANAGED) in (AT_START, ALWAYS) and not (obj.get("spec") or {}).get("service")
