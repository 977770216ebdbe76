"""S2: a cordoned node takes only pods that tolerate it."""

from __future__ import annotations

from apimachinery import pods
from scheduler.framework import Event, Filter, Rejected, Verdict
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

REASON = "node(s) were unschedulable"
_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


class NodeUnschedulable:
    name = "NodeUnschedulable"
    is_local = True
    wakes_on = frozenset({Event.NODE_ADDED, Event.NODE_TAINTS})

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        if any(pods.tolerates(toleration, _TAINT) for toleration in pod.spec.get("tolerations") or []):
            return None

        def fits(node: NodeInfo) -> Verdict:
            return Rejected((REASON,)) if node.unschedulable else None

        return fits
