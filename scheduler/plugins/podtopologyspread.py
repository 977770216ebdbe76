"""S2, S3: pods spread evenly over zones, hosts, or whatever label names a domain.

`DoNotSchedule` constraints filter, `ScheduleAnyway` ones score. A pod without constraints that belongs to a controller
is scored as if it had upstream's defaults (hosts, max skew 3; zones, max skew 5), its siblings being the controller's
pods (upstream also counts those of Services that select it).
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apimachinery import nodeaffinity, pods, selectors
from apimachinery.objects import Object
from scheduler import podterm
from scheduler.framework import MAX_SCORE, Event, Filter, Rejected, Score, Verdict
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.snapshot import Snapshot

REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL = f"{REASON} (missing required label)"
_HARD_TAINTS = frozenset({"NoSchedule", "NoExecute"})
_HOST = "kubernetes.io/hostname"
_DEFAULTS = ((_HOST, 3), ("topology.kubernetes.io/zone", 5))
_IGNORED = -1  # the raw score of a node that is in no domain


@dataclass(frozen=True, slots=True)
class Constraint:
    """`siblings` counts the pods on a node that are to be spread; `counts_itself`: the new pod is one of them."""

    key: str
    max_skew: int
    min_domains: int
    siblings: Callable[[NodeInfo], int]
    counts_itself: bool
    shape: bytes  # of the pod, for the tally
    includes: Callable[[NodeInfo], bool]  # whether a node's domain counts at all


class PodTopologySpread:
    name = "PodTopologySpread"
    is_local = False
    wakes_on = frozenset(
        {Event.NODE_ADDED, Event.NODE_LABELS, Event.NODE_TAINTS, Event.POD_ADDED, Event.POD_LABELS, Event.POD_DELETED}
    )

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        constraints = _constraints(pod, "DoNotSchedule")
        if not constraints:
            return None
        keys = tuple(constraint.key for constraint in constraints)
        counted = [(one, *_counts(one, snapshot, keys, index)) for index, one in enumerate(constraints)]

        def fits(node: NodeInfo) -> Verdict:
            for constraint, counts, least in counted:
                value = node.labels.get(constraint.key)
                if value is None:
                    return Rejected((MISSING_LABEL,))
                if counts.get(value, 0) + constraint.counts_itself - least > constraint.max_skew:
                    return Rejected((REASON,), helps_to_evict=True)
            return None

        return fits

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        own = bool(pod.spec.get("topologySpreadConstraints"))
        constraints = _constraints(pod, "ScheduleAnyway") if own else _default_constraints(pod)
        if not constraints:
            return None
        keys = tuple(constraint.key for constraint in constraints) if own else ()
        # Numbers of their own (negative), apart from the hard constraints of the same pod
        tables = [
            (one.key, _penalties(one, _domains(one, snapshot, keys, -1 - index), feasible), float(one.max_skew - 1))
            for index, one in enumerate(constraints)
        ]

        def score(nodes: Sequence[NodeInfo]) -> list[int]:
            rows = [[table.get(node.labels.get(key), least) for node in nodes] for key, table, least in tables]
            totals = [round(sum(costs)) for costs in zip(*rows, strict=True)]
            if not keys:
                return totals
            ignored = [any(key not in node.labels for key in keys) for node in nodes]
            return [_IGNORED if skip else total for skip, total in zip(ignored, totals, strict=True)]

        return score

    def normalize(self, scores: list[int]) -> list[int]:
        """Fewer siblings are better; nodes in no domain get 0."""
        counted = [score for score in scores if score != _IGNORED]
        low, high = min(counted, default=0), max(counted, default=0)
        return [
            0 if score == _IGNORED else (MAX_SCORE * (high + low - score) // high if high else MAX_SCORE)
            for score in scores
        ]


def _constraints(pod: PodInfo, action: str) -> list[Constraint]:
    items = pod.spec.get("topologySpreadConstraints") or []
    return [_constraint(pod, item) for item in items if (item.get("whenUnsatisfiable") or "DoNotSchedule") == action]


def _constraint(pod: PodInfo, item: Object) -> Constraint:
    selector = podterm.with_label_keys(selectors.from_label_selector(item.get("labelSelector")), item, pod.labels)
    namespace = pod.key.namespace

    def siblings(node: NodeInfo) -> int:
        return sum(
            other.key.namespace == namespace and not other.is_deleting and selector.matches(other.labels)
            for other in node.pods.values()
        )

    return Constraint(
        item["topologyKey"],
        item["maxSkew"],
        item.get("minDomains") or 1,
        siblings,
        selector.matches(pod.labels),
        pod.shape,
        _inclusion(pod, item),
    )


def _default_constraints(pod: PodInfo) -> list[Constraint]:
    owner = pod.controller
    if not owner:
        return []

    def siblings(node: NodeInfo) -> int:
        return node.controllers.get(owner, 0)

    shape = owner.encode()
    return [Constraint(key, skew, 1, siblings, True, shape, lambda _: True) for key, skew in _DEFAULTS]


def _inclusion(pod: PodInfo, item: Object) -> Callable[[NodeInfo], bool]:
    """`nodeAffinityPolicy` (default Honor) and `nodeTaintsPolicy` (default Ignore)."""
    required = nodeaffinity.required(pod.obj) if item.get("nodeAffinityPolicy") != "Ignore" else None
    taints = item.get("nodeTaintsPolicy") == "Honor"
    tolerations = pod.spec.get("tolerations") or []

    def includes(node: NodeInfo) -> bool:
        if required and not required.matches(node.labels, node.name):
            return False
        return not taints or pods.first_untolerated(node.taints, tolerations, _HARD_TAINTS) is None

    return includes


def _domains(constraint: Constraint, snapshot: Snapshot, keys: tuple[str, ...], index: int) -> Mapping[str, int]:
    """Siblings in each domain, over the nodes that have all `keys` and that the constraint includes."""

    def contribute(node: NodeInfo) -> Mapping[str, int]:
        value = node.labels.get(constraint.key)
        if value is None or any(key not in node.labels for key in keys) or not constraint.includes(node):
            return {}
        return {value: constraint.siblings(node)}

    return snapshot.tally(("spread", constraint.shape, keys, index), contribute)


def _counts(
    constraint: Constraint, snapshot: Snapshot, keys: tuple[str, ...], index: int
) -> tuple[Mapping[str, int], int]:
    """Siblings in each domain, and in the emptiest; with fewer domains than wanted the emptiest counts as empty."""
    counts = _domains(constraint, snapshot, keys, index)
    least = min(counts.values(), default=0) if len(counts) >= constraint.min_domains else 0
    return counts, least


def _penalties(constraint: Constraint, counts: Mapping[str, int], feasible: list[NodeInfo]) -> dict[str | None, float]:
    """What each domain with siblings costs; the others cost `max_skew - 1`, and to be in no domain nothing.

    Weighed so that few big domains and many small ones are both heard.
    """
    if constraint.key == _HOST:  # a domain a node: no need to look
        domains = len(feasible)
    else:
        domains = len({node.labels.get(constraint.key) for node in feasible} - {None})
    weight = math.log(domains + 2)
    costs: dict[str | None, float] = {
        value: count * weight + constraint.max_skew - 1 for value, count in counts.items() if count
    }
    costs[None] = 0.0
    return costs
