"""What a pod asks for and how it fares: requests, QoS class, readiness, tolerations. Pure.

Used by the scheduler (does it fit), the kubelet (may it start, which cgroup) and controllers (does it count).
Source: https://kubernetes.io/docs/concepts/workloads/pods/ and KEP-753 (sidecars count like app containers).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from apimachinery import clock, objects, quantity
from apimachinery.objects import Object

TERMINAL = frozenset({"Succeeded", "Failed"})
_ZERO = Decimal(0)


def phase_of(pod: Object) -> str:
    return (pod.get("status") or {}).get("phase") or "Pending"


def is_terminal(pod: Object) -> bool:
    """Whether the pod has run to its end and will never run again."""
    return phase_of(pod) in TERMINAL


def is_active(pod: Object) -> bool:
    """Whether the pod counts as a replica: neither finished nor being deleted."""
    return not is_terminal(pod) and not objects.is_deleting(pod)


def is_ready(pod: Object) -> bool:
    return objects.is_condition_true(pod, "Ready")


def is_available(pod: Object, min_ready_seconds: int, now: datetime) -> bool:
    """Whether the pod has been ready for at least `min_ready_seconds`."""
    ready = objects.condition(pod, "Ready")
    if ready is None or ready.get("status") != "True":
        return False
    if min_ready_seconds == 0:
        return True
    since = str(ready.get("lastTransitionTime") or "")
    return bool(since) and (now - clock.parse_rfc3339(since)).total_seconds() >= min_ready_seconds


def requests(pod: Object) -> dict[str, Decimal]:
    """What the pod asks of a node, by resource name: CPU in cores, memory in bytes.

    The larger of what all app containers and sidecars need together and what any init container needs while the
    sidecars before it run; then `spec.overhead`. Pod-level `spec.resources.requests` win over the sum.
    """
    spec = pod["spec"]
    total = _sum(container_requests(c) for c in spec.get("containers") or [])
    sidecars: dict[str, Decimal] = {}
    peak: dict[str, Decimal] = {}
    for container in spec.get("initContainers") or []:
        own = container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum([sidecars, own])
            running = dict(sidecars)
        else:
            running = dict(_sum([sidecars, own]))
        peak = {name: max(peak.get(name, _ZERO), running.get(name, _ZERO)) for name in peak | running}
    total = _sum([total, sidecars])
    result: dict[str, Decimal] = {name: max(total.get(name, _ZERO), peak.get(name, _ZERO)) for name in total | peak}
    for name, value in ((spec.get("resources") or {}).get("requests") or {}).items():
        result[name] = quantity.parse(value)
    for name, value in (spec.get("overhead") or {}).items():
        result[name] = result.get(name, _ZERO) + quantity.parse(value)
    return result


def container_requests(container: Object) -> dict[str, Decimal]:
    """The container's requests as numbers."""
    asked = (container.get("resources") or {}).get("requests") or {}
    return {name: quantity.parse(value) for name, value in asked.items()}


def qos_class(pod: Object) -> str:
    """`Guaranteed`, `Burstable` or `BestEffort`.

    Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/
    """
    spec = pod["spec"]
    guaranteed, any_set = True, False
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        resources = container.get("resources") or {}
        asked, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            request = quantity.parse(asked[name]) if name in asked else None
            limit = quantity.parse(limits[name]) if name in limits else None
            any_set = any_set or bool(request) or bool(limit)
            if not limit or (request is not None and request != limit):
                guaranteed = False
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether one toleration covers one taint."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def first_untolerated(
    taints: Iterable[Object], tolerations: Iterable[Object], effects: frozenset[str]
) -> Object | None:
    """The first taint with one of `effects` that no toleration covers."""
    tolerations = list(tolerations)
    for taint in taints:
        if taint.get("effect") in effects and not any(tolerates(t, taint) for t in tolerations):
            return taint
    return None


def _sum(parts: Iterable[dict[str, Decimal]]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, _ZERO) + value
    return total
