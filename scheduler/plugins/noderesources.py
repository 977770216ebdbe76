"""S2, S3: the pod's requests fit into what is left of the node; emptier nodes, and evenly used ones, are better.

`NodeResourcesFit` filters, and scores by `LeastAllocated` (or `MostAllocated`); `NodeResourcesBalancedAllocation`
scores how alike the used shares of CPU and memory would be.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/resource-bin-packing/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.framework import MAX_SCORE, Event, Filter, Rejected, Score, Verdict, as_is, each
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

TOO_MANY_PODS = "Too many pods"
INSUFFICIENT = "Insufficient {}"
_DEFAULT_WEIGHTS = {"cpu": 1, "memory": 1}


@dataclass(frozen=True)
class NodeResourcesFit:
    """`strategy`: LeastAllocated or MostAllocated, with a weight a resource."""

    strategy: str = "LeastAllocated"
    weights: Mapping[str, int] = field(default_factory=lambda: _DEFAULT_WEIGHTS)
    name: str = "NodeResourcesFit"
    is_local: bool = True
    wakes_on: frozenset[Event] = frozenset({Event.NODE_ADDED, Event.NODE_ALLOCATABLE, Event.POD_DELETED})

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        requests = tuple(pod.requests.items())

        def fits(node: NodeInfo) -> Verdict:
            allocatable, requested = node.allocatable, node.requested
            if len(node.pods) < allocatable["pods"]:
                for name, amount in requests:
                    if amount > allocatable.get(name, 0) - requested.get(name, 0):
                        return _rejected(pod, node)
                return None
            return _rejected(pod, node)

        return fits

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        weights = tuple(self.weights.items())
        most = self.strategy == "MostAllocated"

        def score(node: NodeInfo) -> int:
            total, weight_sum = 0, 0
            for name, weight in weights:
                capacity = node.allocatable.get(name, 0)
                if not capacity:
                    continue
                # CPU and memory count also for those who ask for none; others only where they are asked for
                used = min(node.nonzero.get(name, 0) + pod.nonzero.get(name, 0), capacity)
                total += weight * ((used if most else capacity - used) * MAX_SCORE // capacity)
                weight_sum += weight
            return total // weight_sum if weight_sum else 0

        return each(score)

    normalize = staticmethod(as_is)


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"
    is_local = True
    wakes_on: frozenset[Event] = frozenset()

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        cpu, memory = pod.requests.get("cpu", 0), pod.requests.get("memory", 0)
        if not cpu and not memory:
            return None  # it changes no balance

        def score(node: NodeInfo) -> int:
            shares = [
                min(1.0, (node.requested.get(name, 0) + asked) / capacity)
                for name, asked in (("cpu", cpu), ("memory", memory))
                if (capacity := node.allocatable.get(name, 0))
            ]
            deviation = abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0
            return int((1 - deviation) * MAX_SCORE)

        return each(score)

    normalize = staticmethod(as_is)


def _rejected(pod: PodInfo, node: NodeInfo) -> Rejected:
    """Every resource that is short. Evicting helps unless the node could not take the pod even when empty."""
    reasons = [TOO_MANY_PODS] if len(node.pods) + 1 > node.allocatable["pods"] else []
    hopeless = False
    for name, amount in pod.requests.items():
        allocatable = node.allocatable.get(name, 0)
        if amount > allocatable - node.requested.get(name, 0):
            reasons.append(INSUFFICIENT.format(name))
            hopeless = hopeless or amount > allocatable
    return Rejected(tuple(reasons), helps_to_evict=not hopeless)
