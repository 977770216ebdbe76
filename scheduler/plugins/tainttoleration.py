"""S2, S3: no node with a taint that the pod does not tolerate; among the others, those with few soft taints."""

from __future__ import annotations

from apimachinery import pods
from apimachinery.objects import Object
from scheduler.framework import Event, Filter, Rejected, Score, Verdict, each, lowest_is_best
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

REASON = "node(s) had untolerated taint {{{key}: {value}}}"
_HARD = frozenset({"NoSchedule", "NoExecute"})
_SOFT = "PreferNoSchedule"


class TaintToleration:
    name = "TaintToleration"
    is_local = True
    wakes_on = frozenset({Event.NODE_ADDED, Event.NODE_TAINTS})

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        tolerations: list[Object] = pod.spec.get("tolerations") or []

        def fits(node: NodeInfo) -> Verdict:
            if not node.taints:
                return None
            taint = pods.first_untolerated(node.taints, tolerations, _HARD)
            if taint is None:
                return None
            return Rejected((REASON.format(key=taint["key"], value=taint.get("value") or ""),))

        return fits

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        if not snapshot.facts.soft_taints:
            return None
        soft = [t for t in pod.spec.get("tolerations") or [] if t.get("effect") in (None, "", _SOFT)]

        def count(node: NodeInfo) -> int:
            taints = [taint for taint in node.taints if taint.get("effect") == _SOFT]
            return sum(not any(pods.tolerates(toleration, taint) for toleration in soft) for taint in taints)

        return each(count)

    normalize = staticmethod(lowest_is_best)
