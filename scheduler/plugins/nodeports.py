"""S2: a host port is free on the node, on the address asked for."""

from __future__ import annotations

from scheduler.framework import Event, Filter, Rejected, Verdict
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

REASON = "node(s) didn't have free ports for the requested pod ports"


class NodePorts:
    name = "NodePorts"
    is_local = True
    wakes_on = frozenset({Event.NODE_ADDED, Event.POD_DELETED})

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        wanted = pod.host_ports
        if not wanted:
            return None

        def fits(node: NodeInfo) -> Verdict:
            taken = any(port.conflicts_with(other) for port in wanted for other in node.host_ports)
            return Rejected((REASON,), helps_to_evict=True) if taken else None

        return fits
