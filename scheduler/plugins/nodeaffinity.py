"""S2, S3: nodeSelector and required node affinity; preferred terms by their weights."""

from __future__ import annotations

from apimachinery import nodeaffinity
from scheduler.framework import Event, Filter, Rejected, Score, Verdict, each, highest_is_best
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

REASON = "node(s) didn't match Pod's node affinity/selector"


class NodeAffinity:
    name = "NodeAffinity"
    is_local = True
    wakes_on = frozenset({Event.NODE_ADDED, Event.NODE_LABELS})

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        required = nodeaffinity.required(pod.obj)
        if not required:
            return None

        def fits(node: NodeInfo) -> Verdict:
            return None if required.matches(node.labels, node.name) else Rejected((REASON,))

        return fits

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        wishes = nodeaffinity.preferred(pod.obj)
        if not wishes:
            return None

        def weigh(node: NodeInfo) -> int:
            return sum(wish.weight for wish in wishes if wish.term.matches(node.labels, node.name))

        return each(weigh)

    normalize = staticmethod(highest_is_best)
