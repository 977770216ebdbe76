"""The policies and what binds them, from the watch cache, by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apimachinery import selectors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.policies.evaluating import Evaluator
from apiserver.admission.webhooks import matching
from apiserver.storage.store import Store
from apiserver.storage.types import Event

VALIDATING = ("/registry/validatingadmissionpolicies/", "/registry/validatingadmissionpolicybindings/")
MUTATING = ("/registry/mutatingadmissionpolicies/", "/registry/mutatingadmissionpolicybindings/")


@dataclass(frozen=True, slots=True)
class Target:
    """Which writes are meant: rules, rules that except, selectors. Without rules, those of any resource."""

    rules: tuple[Object, ...]
    excluded: tuple[Object, ...]
    namespaces: selectors.Selector
    objects: selectors.Selector

    def wants(self, review: Review, namespace: Object | None) -> bool:
        if self.rules and not any(_covers(rule, review) for rule in self.rules):
            return False
        if any(_covers(rule, review) for rule in self.excluded):
            return False
        return matching.in_namespaces(self, review, namespace) and matching.selects(self, review)


def target(spec: Object | None) -> Target:
    spec = spec or {}
    return Target(
        tuple(spec.get("resourceRules") or ()),
        tuple(spec.get("excludeResourceRules") or ()),
        selectors.from_label_selector(spec.get("namespaceSelector") or {}),
        selectors.from_label_selector(spec.get("objectSelector") or {}),
    )


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    spec: Object
    target: Target
    evaluator: Evaluator

    @property
    def fails_open(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"


@dataclass(frozen=True, slots=True)
class Binding:
    name: str
    spec: Object
    target: Target


class Policies:
    """All of one kind; follows the cache. `prefixes` are where policies and bindings are kept."""

    def __init__(self, prefixes: tuple[str, str]) -> None:
        self._at, self._bindings_at = prefixes
        self._policies: dict[str, Policy] = {}
        self._bindings: dict[str, Binding] = {}

    def follow(self, store: Store) -> None:
        revision = store.revision
        for prefix, apply in ((self._at, self.apply_policy), (self._bindings_at, self.apply_binding)):
            for stored in store.cached_list(prefix):
                apply(Event(False, stored, None))
            store.subscribe(prefix, revision, apply)

    def apply_policy(self, event: Event) -> None:
        name = event.stored.key.removeprefix(self._at)
        self._policies.pop(name, None)
        if not event.deleted:
            spec = event.stored.object.get("spec") or {}
            self._policies[name] = Policy(name, spec, target(spec.get("matchConstraints")), Evaluator(spec))

    def apply_binding(self, event: Event) -> None:
        name = event.stored.key.removeprefix(self._bindings_at)
        self._bindings.pop(name, None)
        if not event.deleted:
            spec = event.stored.object.get("spec") or {}
            self._bindings[name] = Binding(name, spec, target(spec.get("matchResources")))
            self._bindings = dict(sorted(self._bindings.items()))

    def concerned(self, review: Review, namespace: Object | None) -> Iterator[tuple[Policy, Binding]]:
        """Each policy that means the write, with each of its bindings that does."""
        for binding in self._bindings.values():
            policy = self._policies.get(binding.spec.get("policyName") or "")
            if policy is None or not policy.target.wants(review, namespace):
                continue
            if binding.target.wants(review, namespace):
                yield policy, binding

    def __bool__(self) -> bool:
        return bool(self._policies) and bool(self._bindings)


def _covers(rule: Object, review: Review) -> bool:
    names = rule.get("resourceNames")
    return matching.covers(rule, review) and (not names or review.name in names)
