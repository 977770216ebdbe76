"""The taints that a node's conditions ask for, and how fast nodes may be given those that evict pods.

`NoSchedule` follows each condition at once. `NoExecute`, which evicts, follows only Ready, at a limited rate, and not
at all while *every* node seems down: then it is more likely that we are cut off than that all of them died.
Source: https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from apimachinery import clock, objects
from apimachinery.objects import Object

PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE = PREFIX + "not-ready", PREFIX + "unreachable"
UNSCHEDULABLE = PREFIX + "unschedulable"
_BY_CONDITION = {  # condition → status → key
    "Ready": {"False": NOT_READY, "Unknown": UNREACHABLE},
    "MemoryPressure": {"True": PREFIX + "memory-pressure"},
    "DiskPressure": {"True": PREFIX + "disk-pressure"},
    "PIDPressure": {"True": PREFIX + "pid-pressure"},
    "NetworkUnavailable": {"True": PREFIX + "network-unavailable"},
}
_NO_SCHEDULE_KEYS = frozenset(key for keys in _BY_CONDITION.values() for key in keys.values()) | {UNSCHEDULABLE}
_NO_EXECUTE_KEYS = frozenset({NOT_READY, UNREACHABLE})
_MANY_NOT_READY = 2  # more than these, and the threshold's share, are "many"

Taint = tuple[str, str]  # key, effect


def taints_of(node: Object) -> list[Object]:
    return (node.get("spec") or {}).get("taints") or []


def wanted(node: Object, *, evict: bool, now: datetime) -> list[Object]:
    """All taints the node shall have: others' as they are, ours by its conditions. `evict`: NoExecute may be there."""
    ours = _no_schedule(node) | (_no_execute(node) if evict else set())
    kept = [taint for taint in taints_of(node) if not _is_ours(taint) or _name(taint) in ours]
    present = {_name(taint) for taint in kept}
    stamp = clock.rfc3339(now)
    added = [{"key": key, "effect": effect, "timeAdded": stamp} for key, effect in sorted(ours - present)]
    return kept + added


def evicts(taints: Iterable[Object]) -> bool:
    """Whether one of our NoExecute taints is among `taints`."""
    return any(taint["key"] in _NO_EXECUTE_KEYS and taint["effect"] == "NoExecute" for taint in taints)


@dataclass(frozen=True, slots=True)
class Disruption:
    """How much of the cluster is down, and how many nodes a second may lose their pods for it."""

    all_down: bool
    nodes_per_second: float


def disruption(
    ready: int, not_ready: int, *, rate: float, secondary_rate: float, threshold: float, large_size: int
) -> Disruption:
    if not_ready and not ready:
        return Disruption(True, 0.0)
    if not_ready > _MANY_NOT_READY and not_ready / (ready + not_ready) >= threshold:
        return Disruption(False, secondary_rate if ready + not_ready > large_size else 0.0)
    return Disruption(False, rate)


def _no_schedule(node: Object) -> set[Taint]:
    found = set()
    for kind, keys in _BY_CONDITION.items():
        status = (objects.condition(node, kind) or {}).get("status") or ""
        if status in keys:
            found.add((keys[status], "NoSchedule"))
    if (node.get("spec") or {}).get("unschedulable"):
        found.add((UNSCHEDULABLE, "NoSchedule"))
    return found


def _no_execute(node: Object) -> set[Taint]:
    key = _BY_CONDITION["Ready"].get((objects.condition(node, "Ready") or {}).get("status") or "")
    return {(key, "NoExecute")} if key else set()


def _is_ours(taint: Object) -> bool:
    keys = {"NoSchedule": _NO_SCHEDULE_KEYS, "NoExecute": _NO_EXECUTE_KEYS}.get(taint["effect"], frozenset())
    return taint["key"] in keys


def _name(taint: Object) -> Taint:
    return taint["key"], taint["effect"]
