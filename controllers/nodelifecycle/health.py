"""Whether a node still reports, by our own clock, and what its conditions say when it does not.

A node reports by renewing its Lease or its status. Only *that* the report changed counts, and when we saw the change:
the times within it come from the node's clock, which may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apimachinery import clock, objects
from apimachinery.objects import Object

UNKNOWN_WHEN_SILENT = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The newest report of one node, and when it was seen first (monotonic seconds)."""

    uid: str
    report: tuple[str, str, str]
    since: float


class Heartbeats:
    """The newest report of each node."""

    def __init__(self) -> None:
        self._seen: dict[str, Heartbeat] = {}

    def silence_seconds(self, node: Object, lease: Object | None, now: float) -> float:
        """For how long the node has reported nothing new; 0 for one seen for the first time."""
        name, uid = objects.name_of(node), objects.uid_of(node)
        report = _report(node, lease)
        seen = self._seen.get(name)
        if seen is None or seen.uid != uid or seen.report != report:
            seen = self._seen[name] = Heartbeat(uid, report, now)
        return now - seen.since

    def restart(self, now: float) -> None:
        """Counts all silences anew: it was we who were cut off."""
        self._seen = {name: Heartbeat(seen.uid, seen.report, now) for name, seen in self._seen.items()}

    def forget(self, name: str) -> None:
        self._seen.pop(name, None)


def _report(node: Object, lease: Object | None) -> tuple[str, str, str]:
    ready = objects.condition(node, "Ready") or {}
    renewed = "" if lease is None else (lease.get("spec") or {}).get("renewTime") or ""
    # Our own write of Unknown leaves lastHeartbeatTime as it was, so it is not taken for a sign of life
    return renewed, ready.get("lastHeartbeatTime") or "", objects.uid_of(node)


def conditions_of_silent(node: Object, now: datetime) -> list[Object]:
    """The conditions to write for a node that went silent; empty when they say so already."""
    stamp = clock.rfc3339(now)
    changed = []
    for kind in UNKNOWN_WHEN_SILENT:
        old = objects.condition(node, kind)
        if old is None:
            created = node["metadata"].get("creationTimestamp") or stamp
            entry = {"type": kind, "lastHeartbeatTime": created, "reason": "NodeStatusNeverUpdated"}
            entry["message"] = "Kubelet never posted node status."
        elif old.get("status") != "Unknown":
            entry = {"type": kind, "lastHeartbeatTime": old.get("lastHeartbeatTime"), "reason": "NodeStatusUnknown"}
            entry["message"] = "Kubelet stopped posting node status."
        else:
            continue
        changed.append({**entry, "status": "Unknown", "lastTransitionTime": stamp})
    return changed


def ready_status(node: Object) -> str:
    """`True`, `False`, `Unknown`, or "" for a node that never said."""
    return (objects.condition(node, "Ready") or {}).get("status") or ""
