"""Which nodes a pod may or would rather run on: `nodeSelector` and `nodeAffinity`, compiled once, matched often. Pure.

The scheduler asks it for every node; a kubelet and the DaemonSet controller ask it for one.
Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#node-affinity
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apimachinery.objects import Object
from apimachinery.selectors import Requirement

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}


@dataclass(frozen=True, slots=True)
class Term:
    """All of its requirements must hold; one without any matches no node."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if not self.labels and not self.fields:
            return False
        named = {"metadata.name": name}
        return all(r.matches(labels) for r in self.labels) and all(r.matches(named) for r in self.fields)


@dataclass(frozen=True, slots=True)
class Required:
    """What a node must have: every label of the selector, and one of the terms (None: no terms were given)."""

    selector: tuple[tuple[str, str], ...]
    terms: tuple[Term, ...] | None

    def __bool__(self) -> bool:
        """Whether anything is asked for at all."""
        return bool(self.selector) or self.terms is not None

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        if any(labels.get(key) != value for key, value in self.selector):
            return False
        return self.terms is None or any(term.matches(labels, name) for term in self.terms)


@dataclass(frozen=True, slots=True)
class Preferred:
    weight: int
    term: Term


def required(pod: Object) -> Required:
    """What the pod's spec demands of a node."""
    spec = pod["spec"]
    asked = _node_affinity(pod).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if asked is None else tuple(term(item) for item in asked.get("nodeSelectorTerms") or [])
    return Required(tuple((spec.get("nodeSelector") or {}).items()), terms)


def preferred(pod: Object) -> tuple[Preferred, ...]:
    """What the pod's spec would like; terms of weight 0 say nothing."""
    wishes = _node_affinity(pod).get("preferredDuringSchedulingIgnoredDuringExecution") or []
    return tuple(Preferred(w["weight"], term(w.get("preference") or {})) for w in wishes if w.get("weight"))


def term(item: Object) -> Term:
    """A `NodeSelectorTerm`. An unknown operator makes a requirement that nothing meets."""
    return Term(_requirements(item.get("matchExpressions")), _requirements(item.get("matchFields")))


def _requirements(expressions: Sequence[Object] | None) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(e["key"], _OPERATORS.get(e.get("operator", ""), "in"), frozenset(e.get("values") or ()))
        for e in expressions or ()
    )


def _node_affinity(pod: Object) -> Object:
    affinity: Object = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    return affinity
