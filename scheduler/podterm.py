"""Terms of pod affinity and anti-affinity, compiled: which pods a term means, and what counts as near."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from apimachinery import selectors
from apimachinery.objects import Object
from apimachinery.selectors import NOTHING, Requirement, Selector

NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Term:
    """`namespaces` and `namespace_selector` say where; nodes with the same value of `topology_key` are near."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    topology_key: str
    weight: int = 0

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: NamespaceLabels) -> bool:
        """Whether the term means a pod of this namespace with these labels."""
        if not self.selector.matches(labels):
            return False
        if namespace in self.namespaces:
            return True
        return not self.namespace_selector.nothing and self.namespace_selector.matches(namespace_labels(namespace))


class Terms(NamedTuple):
    """All terms of one pod. `must` terms filter, `would` terms score by their weight."""

    must_be_near: tuple[Term, ...] = ()
    must_be_far: tuple[Term, ...] = ()
    would_be_near: tuple[Term, ...] = ()
    would_be_far: tuple[Term, ...] = ()


NO_TERMS = Terms()


def terms_of(affinity: Object, namespace: str, labels: Mapping[str, str]) -> Terms:
    """The terms of a pod with this `spec.affinity`."""
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    if not near and not far:
        return NO_TERMS

    def must(part: Object) -> tuple[Term, ...]:
        items = part.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        return tuple(_term(item, 0, namespace, labels) for item in items)

    def would(part: Object) -> tuple[Term, ...]:
        items = part.get("preferredDuringSchedulingIgnoredDuringExecution") or []
        return tuple(_term(item["podAffinityTerm"], item["weight"], namespace, labels) for item in items)

    return Terms(must(near), must(far), would(near), would(far))


def with_label_keys(selector: Selector, item: Object, labels: Mapping[str, str]) -> Selector:
    """`matchLabelKeys` and `mismatchLabelKeys`: the pod's own values of these labels, demanded or ruled out."""
    if selector.nothing:
        return selector
    more = [
        Requirement(key, operator, frozenset([labels[key]]))
        for field, operator in (("matchLabelKeys", "in"), ("mismatchLabelKeys", "notin"))
        for key in item.get(field) or []
        if key in labels
    ]
    return Selector((*selector.requirements, *more))


def _term(item: Object, weight: int, namespace: str, labels: Mapping[str, str]) -> Term:
    where = item.get("namespaceSelector")
    own = not item.get("namespaces") and where is None
    return Term(
        with_label_keys(selectors.from_label_selector(item.get("labelSelector")), item, labels),
        frozenset([namespace] if own else item.get("namespaces") or ()),
        selectors.from_label_selector(where) if where is not None else NOTHING,
        item["topologyKey"],
        weight,
    )
