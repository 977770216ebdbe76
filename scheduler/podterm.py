"""Terms of pod affinity and anti-affinity, compiled: which pods a term means, and what counts as near."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from apimachinery import selectors
from apimachinery.objects import Object
from apimachinery.selectors import NOTHING, Requirement, Selector
from scheduler.podinfo import PodInfo

NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Term:
    """`namespaces` and `namespace_selector` say where; nodes with the same value of `topology_key` are near."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    topology_key: str
    weight: int = 0

    def matches(self, pod: PodInfo, namespace_labels: NamespaceLabels) -> bool:
        if not self.selector.matches(pod.labels):
            return False
        namespace = pod.key.namespace
        if namespace in self.namespaces:
            return True
        return not self.namespace_selector.nothing and self.namespace_selector.matches(namespace_labels(namespace))


def required(pod: PodInfo, kind: str) -> tuple[Term, ...]:
    """The hard terms of `podAffinity` or `podAntiAffinity`."""
    terms = (pod.affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or []
    return tuple(_term(pod, item, 0) for item in terms)


def preferred(pod: PodInfo, kind: str) -> tuple[Term, ...]:
    """The soft terms, with their weights."""
    terms = (pod.affinity.get(kind) or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or []
    return tuple(_term(pod, item["podAffinityTerm"], item["weight"]) for item in terms)


def with_label_keys(selector: Selector, pod: PodInfo, item: Object) -> Selector:
    """`matchLabelKeys` and `mismatchLabelKeys`: the pod's own values of these labels, demanded or ruled out."""
    if selector.nothing:
        return selector
    more = [
        Requirement(key, operator, frozenset([pod.labels[key]]))
        for field, operator in (("matchLabelKeys", "in"), ("mismatchLabelKeys", "notin"))
        for key in item.get(field) or []
        if key in pod.labels
    ]
    return Selector((*selector.requirements, *more))


def _term(pod: PodInfo, item: Object, weight: int) -> Term:
    own = not item.get("namespaces") and item.get("namespaceSelector") is None
    return Term(
        with_label_keys(selectors.from_label_selector(item.get("labelSelector")), pod, item),
        frozenset([pod.key.namespace] if own else item.get("namespaces") or ()),
        selectors.from_label_selector(item["namespaceSelector"])
        if item.get("namespaceSelector") is not None
        else NOTHING,
        item["topologyKey"],
        weight,
    )
