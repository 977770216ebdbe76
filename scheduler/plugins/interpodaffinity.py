"""S2, S3: pods that want to be near others, or far from them, and pods already running that do not want this one.

"Near" is a topology: all nodes with the same value of a label. Hard terms filter, soft ones score. Everything is a sum
over nodes, kept as tallies by the pod's shape.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from scheduler.framework import MAX_SCORE, Event, Filter, Rejected, Score, Verdict, each
from scheduler.nodeinfo import NodeInfo
from scheduler.podinfo import PodInfo
from scheduler.podterm import NamespaceLabels, Term
from scheduler.snapshot import Snapshot

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
# How much a running pod's hard wish to be near counts as a soft wish of its own. Upstream's default.
_HARD_WEIGHT = 1

Topology = tuple[str, str]  # label key and value
Counts = Mapping[Topology, int]
Part = Callable[[NodeInfo], Counts]


class InterPodAffinity:
    name = "InterPodAffinity"
    is_local = False
    wakes_on = frozenset(
        {Event.NODE_ADDED, Event.NODE_LABELS, Event.POD_ADDED, Event.POD_LABELS, Event.POD_DELETED, Event.NAMESPACE}
    )

    def filter_for(self, pod: PodInfo, snapshot: Snapshot) -> Filter | None:
        near, far = pod.terms.must_be_near, pod.terms.must_be_far
        where = snapshot.namespace_labels
        forbidden = snapshot.tally(("forbidden", pod.identity), _who_forbids(pod, where))
        if not near and not far and not any(forbidden.values()):
            return None
        nears = snapshot.tally(("near", pod.shape), _friends(near, where)) if near else {}
        fars = snapshot.tally(("far", pod.shape), _enemies(far, where)) if far else {}
        closed: dict[str, set[str]] = {}
        for key, value in (place for place, count in forbidden.items() if count):
            closed.setdefault(key, set()).add(value)
        # The first of a group that wants to be together has nobody to be near to
        is_first = not any(nears.values()) and all(_means(term, pod, where) for term in near)

        def fits(node: NodeInfo) -> Verdict:
            for term in near:
                place = _place(term, node)
                if place is None or not (is_first or nears.get(place)):
                    return Rejected((AFFINITY,))
            if any(fars.get(place) for term in far if (place := _place(term, node))):
                return Rejected((ANTI_AFFINITY,), helps_to_evict=True)
            if any(node.labels.get(key) in values for key, values in closed.items()):
                return Rejected((EXISTING_ANTI_AFFINITY,), helps_to_evict=True)
            return None

        return fits

    def score_for(self, pod: PodInfo, snapshot: Snapshot, feasible: list[NodeInfo]) -> Score | None:
        where = snapshot.namespace_labels
        counts = dict(snapshot.tally(("wished", pod.identity), _who_wishes(pod, where)))
        if pod.terms.would_be_near or pod.terms.would_be_far:
            for place, weight in snapshot.tally(("wishes", pod.shape), _wished(pod, where)).items():
                counts[place] = counts.get(place, 0) + weight
        if not any(counts.values()):
            return None
        keys = {key for key, _ in counts}

        def score(node: NodeInfo) -> int:
            return sum(counts.get((key, node.labels[key]), 0) for key in keys if key in node.labels)

        return each(score)

    def normalize(self, scores: list[int]) -> list[int]:
        """Scores may be negative: the lowest gets 0, the highest 100."""
        low, high = min(scores), max(scores)
        return [MAX_SCORE * (score - low) // (high - low) if high > low else 0 for score in scores]


def _friends(terms: tuple[Term, ...], where: NamespaceLabels) -> Part:
    """As upstream: only a pod that all terms mean counts, then for each term's topology."""

    def contribute(node: NodeInfo) -> Counts:
        found = sum(all(_means(term, other, where) for term in terms) for other in node.pods.values())
        return _weigh(node, ((term, found) for term in terms)) if found else {}

    return contribute


def _enemies(terms: tuple[Term, ...], where: NamespaceLabels) -> Part:
    """Pods that one of the terms means, for that term's topology."""

    def contribute(node: NodeInfo) -> Counts:
        pairs = [(term, 1) for other in node.pods.values() for term in terms if _means(term, other, where)]
        return _weigh(node, pairs)

    return contribute


def _wished(pod: PodInfo, where: NamespaceLabels) -> Part:
    """The pod's own wishes: the pods they mean, with their weights."""
    wishes = [*((t, t.weight) for t in pod.terms.would_be_near), *((t, -t.weight) for t in pod.terms.would_be_far)]

    def contribute(node: NodeInfo) -> Counts:
        others = node.pods.values()
        return _weigh(node, ((t, w) for other in others for t, w in wishes if _means(t, other, where)))

    return contribute


def _who_forbids(pod: PodInfo, where: NamespaceLabels) -> Part:
    """Running pods that do not want this one around."""

    def contribute(node: NodeInfo) -> Counts:
        others = node.minding.values()
        return _weigh(node, ((t, 1) for other in others for t in other.terms.must_be_far if _means(t, pod, where)))

    return contribute


def _who_wishes(pod: PodInfo, where: NamespaceLabels) -> Part:
    """Running pods that would like this one near, or far."""

    def contribute(node: NodeInfo) -> Counts:
        others = node.minding.values()
        return _weigh(node, ((t, w) for other in others for t, w in _wishes(other) if _means(t, pod, where)))

    return contribute


def _wishes(pod: PodInfo) -> Iterator[tuple[Term, int]]:
    """What a running pod would like of a newcomer."""
    yield from ((term, _HARD_WEIGHT) for term in pod.terms.must_be_near)
    yield from ((term, term.weight) for term in pod.terms.would_be_near)
    yield from ((term, -term.weight) for term in pod.terms.would_be_far)


def _weigh(node: NodeInfo, pairs: Iterable[tuple[Term, int]]) -> Counts:
    """The weights, summed by the topologies the node is in."""
    counts: dict[Topology, int] = {}
    for term, weight in pairs:
        place = _place(term, node)
        if place is not None:
            counts[place] = counts.get(place, 0) + weight
    return counts


def _means(term: Term, pod: PodInfo, where: NamespaceLabels) -> bool:
    return term.matches(pod.key.namespace, pod.labels, where)


def _place(term: Term, node: NodeInfo) -> Topology | None:
    value = node.labels.get(term.topology_key)
    return None if value is None else (term.topology_key, value)
