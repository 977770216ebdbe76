"""L4: whether a pod that was bound to this node may run here. Pure.

The scheduler has decided already; the node looks again, for its picture may have been old, or somebody set `nodeName`
by hand. A refusal is final: the pod fails, and its owner makes another. Reasons and wording are upstream's.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/ (predicates the kubelet repeats)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal

from apimachinery import nodeaffinity, objects, pods
from apimachinery.objects import Object
from kubelet.pods import spec
from kubelet.status import Verdict

_PREFIX = "Pod was rejected: "


def admit(pod: Object, node: Object, others: Iterable[Object], allocatable: Mapping[str, Decimal]) -> Verdict | None:
    """None: it may run. `others` are the pods that hold resources here."""
    others = [other for other in others if objects.uid_of(other) != objects.uid_of(pod)]
    wanted_os = ((pod["spec"].get("os") or {}).get("name")) or "linux"
    if wanted_os != "linux":
        return Verdict("PodOSNotSupported", _PREFIX + "Failed to admit pod as the OS field doesn't match node OS")
    return _resources(pod, others, allocatable) or _affinity(pod, node) or _ports(pod, others) or _taints(pod, node)


def _resources(pod: Object, others: list[Object], allocatable: Mapping[str, Decimal]) -> Verdict | None:
    asked = {**pods.requests(pod), "pods": Decimal(1)}
    used: dict[str, Decimal] = {"pods": Decimal(len(others))}
    for other in others:
        for name, value in pods.requests(other).items():
            used[name] = used.get(name, Decimal(0)) + value
    for name, value in asked.items():
        capacity = allocatable.get(name)
        if value == 0 or capacity is None:
            continue  # what this node does not count, the scheduler has accounted for elsewhere
        taken = used.get(name, Decimal(0))
        if value + taken > capacity:
            numbers = [_units(name, number) for number in (value, taken, capacity)]
            said = f"requested: {numbers[0]}, used: {numbers[1]}, capacity: {numbers[2]}"
            return Verdict(f"OutOf{name}", f"{_PREFIX}Node didn't have enough resource: {name}, {said}")
    return None


def _units(name: str, value: Decimal) -> int:
    """CPU is said in thousandths, all else in units."""
    return int((value * 1000 if name == "cpu" else value).to_integral_value(ROUND_CEILING))


def _affinity(pod: Object, node: Object) -> Verdict | None:
    if nodeaffinity.required(pod).matches(objects.labels_of(node), objects.name_of(node)):
        return None
    said = "node(s) didn't match Pod's node affinity/selector"
    return Verdict("NodeAffinity", f"{_PREFIX}Predicate NodeAffinity failed: {said}")


def _ports(pod: Object, others: list[Object]) -> Verdict | None:
    wanted = _host_ports(pod)
    taken = [port for other in others for port in _host_ports(other)]
    if any(_collide(a, b) for a in wanted for b in taken):
        said = "node(s) didn't have free ports for the requested pod ports"
        return Verdict("NodePorts", f"{_PREFIX}Predicate NodePorts failed: {said}")
    return None


def _host_ports(pod: Object) -> list[tuple[int, str, str]]:
    return [
        (port["hostPort"], port.get("protocol") or "TCP", port.get("hostIP") or "0.0.0.0")
        for container in [*spec.app_containers(pod), *spec.sidecars(pod)]
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


def _collide(a: tuple[int, str, str], b: tuple[int, str, str]) -> bool:
    return a[:2] == b[:2] and (a[2] == b[2] or "0.0.0.0" in (a[2], b[2]))


def _taints(pod: Object, node: Object) -> Verdict | None:
    taints = (node.get("spec") or {}).get("taints") or []
    found = pods.first_untolerated(taints, pod["spec"].get("tolerations") or [], frozenset({"NoExecute"}))
    if found is None:
        return None
    said = f"node(s) had untolerated taint {{{found['key']}: {found.get('value') or ''}}}"
    return Verdict("TaintToleration", f"{_PREFIX}Predicate TaintToleration failed: {said}")
