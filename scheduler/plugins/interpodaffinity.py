"""S2, S3: pods that want to be near others, or far from them, and pods already running that do not want this one.

"Near" is a topology: all nodes with the same value of a label. Hard terms filter, soft ones score.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scheduler import podterm
from scheduler.framework import MAX_SCORE, Event, Filter, Rejected, Score, Verdict
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.podterm import Term
from scheduler.snapshot import Snapshot

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
# How much a running pod's hard wish to be near counts as a soft wish of its own. Upstream's default.
_HARD_WEIGHT = 1

Topology = tuple[str, str]  # label key and value
Counts = dict[Topology, int]


class InterPodAffinity:
    name = "InterPodAffinity"
    wakes_on = frozenset(
        {Event.NODE_ADDED, Event.NODE_LABELS, Event.POD_ADDED, Event.POD_LABELS, Event.POD_DELETED, Event.NAMESPACE}
    )

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        near, far = podterm.required(pod, "podAffinity"), podterm.required(pod, "podAntiAffinity")
        forbidden = _forbidden_by_others(pod, snapshot)
        if not near and not far and not forbidden:
            return None
        near_counts = _count_pods_matching_all(near, snapshot) if near else {}
        far_counts = _count(((term, 1) for term in far), snapshot)
        # The first of a group that wants to be together has nobody to be near to
        is_first = not near_counts and all(term.matches(pod, snapshot.namespace_labels) for term in near)

        def fits(node: NodeInfo) -> Verdict:
            for term in near:
                value = node.labels.get(term.topology_key)
                if value is None or not (is_first or near_counts.get((term.topology_key, value))):
                    return Rejected((AFFINITY,))
            if any(far_counts.get(place) for place in _places(far, node)):
                return Rejected((ANTI_AFFINITY,), helps_to_evict=True)
            if any(node.labels.get(key) == value for key, value in forbidden):
                return Rejected((EXISTING_ANTI_AFFINITY,), helps_to_evict=True)
            return None

        return fits

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        near, far = podterm.preferred(pod, "podAffinity"), podterm.preferred(pod, "podAntiAffinity")
        wishes = [*((term, term.weight) for term in near), *((term, -term.weight) for term in far)]
        counts = _count(wishes, snapshot)
        _add_wishes_of_others(counts, pod, snapshot)
        if not any(counts.values()):
            return None
        keys = {key for key, _ in counts}

        def score(node: NodeInfo) -> int:
            return sum(counts.get((key, node.labels[key]), 0) for key in keys if key in node.labels)

        return score

    def normalize(self, scores: list[int]) -> list[int]:
        """Scores may be negative: the lowest gets 0, the highest 100."""
        low, high = min(scores), max(scores)
        return [MAX_SCORE * (score - low) // (high - low) if high > low else 0 for score in scores]


def _count(wishes: Iterable[tuple[Term, int]], snapshot: Snapshot) -> Counts:
    """How much weight is in each topology: every running pod that a term means counts for the term's weight."""
    counts: Counts = {}
    for term, weight in wishes:
        for node in snapshot.nodes:
            value = node.labels.get(term.topology_key)
            if value is None:
                continue
            found = sum(term.matches(other, snapshot.namespace_labels) for other in node.pods.values())
            if found:
                place = (term.topology_key, value)
                counts[place] = counts.get(place, 0) + weight * found
    return counts


def _count_pods_matching_all(terms: tuple[Term, ...], snapshot: Snapshot) -> Counts:
    """As upstream: only a pod that all terms mean counts, then for each term's topology."""
    counts: Counts = {}
    for node in snapshot.nodes:
        found = sum(
            all(term.matches(other, snapshot.namespace_labels) for term in terms) for other in node.pods.values()
        )
        for place in _places(terms, node) if found else ():
            counts[place] = counts.get(place, 0) + found
    return counts


def _forbidden_by_others(pod: PodInfo, snapshot: Snapshot) -> set[Topology]:
    """The topologies in which a running pod does not want this one."""
    return {
        place
        for node, other in snapshot.pods_with_affinity
        for term in podterm.required(other, "podAntiAffinity")
        if term.matches(pod, snapshot.namespace_labels)
        for place in _places((term,), node)
    }


def _add_wishes_of_others(counts: Counts, pod: PodInfo, snapshot: Snapshot) -> None:
    for node, other in snapshot.pods_with_affinity:
        for term, weight in _wishes(other):
            if term.matches(pod, snapshot.namespace_labels):
                for place in _places((term,), node):
                    counts[place] = counts.get(place, 0) + weight


def _wishes(pod: PodInfo) -> Iterator[tuple[Term, int]]:
    """What a running pod would like of a newcomer."""
    for term in podterm.required(pod, "podAffinity"):
        yield term, _HARD_WEIGHT
    for term in podterm.preferred(pod, "podAffinity"):
        yield term, term.weight
    for term in podterm.preferred(pod, "podAntiAffinity"):
        yield term, -term.weight


def _places(terms: tuple[Term, ...], node: NodeInfo) -> list[Topology]:
    return [(t.topology_key, node.labels[t.topology_key]) for t in terms if t.topology_key in node.labels]
