"""S2: a pod that names its node goes there and nowhere else."""

from __future__ import annotations

from scheduler.framework import Event, Filter, Rejected, Verdict
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

REASON = "node(s) didn't match the requested node name"


class NodeName:
    name = "NodeName"
    is_local = True
    wakes_on = frozenset({Event.NODE_ADDED})

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        wanted = pod.node_name
        if not wanted:
            return None

        def fits(node: NodeInfo) -> Verdict:
            return None if node.name == wanted else Rejected((REASON,))

        return fits
