"""RBAC (A5): roles and bindings from the watch cache, indexed by subject.

Guarantees: a decision takes microseconds and never waits; the index follows every event of the four kinds, in order;
a binding to a missing role gives nothing and says so.
Aggregated roles (`aggregationRule`) cover what the roles that they select cover, whether or not a controller
has copied the rules yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apimachinery import selectors
from apimachinery.objects import Object
from apiserver.authorization.attributes import Attributes, Decision, Verdict
from apiserver.authorization.rules import Rules
from apiserver.registry.call import User
from apiserver.storage.store import Store
from apiserver.storage.types import Event, Stored

CLUSTER_ROLES = "/registry/clusterroles/"
ROLES = "/registry/roles/"
CLUSTER_BINDINGS = "/registry/clusterrolebindings/"
BINDINGS = "/registry/rolebindings/"

_NO_OPINION = Decision(Verdict.NO_OPINION)

Subject = tuple[str, str]
"""("User", name) or ("Group", name); a service account counts as the user that it logs in as."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Who gets which role where. `namespace` is "" for the whole cluster."""

    name: str
    namespace: str
    role_kind: str
    role_name: str
    subjects: tuple[tuple[Subject, str], ...]  # with the words that a reason names each by

    @property
    def role(self) -> tuple[str, str]:
        """(namespace, name) of the role; "" for a ClusterRole."""
        return ("" if self.role_kind == "ClusterRole" else self.namespace, self.role_name)

    def describe(self, subject: str) -> str:
        """Why this binding allows, in upstream's words."""
        if not self.namespace:
            return (
                f'RBAC: allowed by ClusterRoleBinding "{self.name}" of {self.role_kind} "{self.role_name}" to {subject}'
            )
        place = f"{self.name}/{self.namespace}"
        return f'RBAC: allowed by RoleBinding "{place}" of {self.role_kind} "{self.role_name}" to {subject}'


@dataclass(frozen=True, slots=True)
class Role:
    rules: list[Object]
    labels: dict[str, str]
    aggregates: tuple[selectors.Selector, ...] = ()


class RBAC:
    """The authorizer, and the answers to which rules a user has."""

    def __init__(self) -> None:
        self._roles: dict[tuple[str, str], Role] = {}
        self._effective: dict[tuple[str, str], Rules] = {}
        self._bindings: dict[str, Binding] = {}
        self._by_subject: dict[Subject, dict[str, tuple[Binding, str]]] = {}

    def follow(self, store: Store) -> None:
        """Takes what the cache has, then every change."""
        revision = store.revision
        for prefix in (CLUSTER_ROLES, ROLES, CLUSTER_BINDINGS, BINDINGS):
            for stored in store.cached_list(prefix):
                self.apply(Event(False, stored, None))
            store.subscribe(prefix, revision, self.apply)

    def apply(self, event: Event) -> None:
        """One change of a role or binding."""
        key = event.stored.key
        if key.startswith((CLUSTER_ROLES, ROLES)):
            self._set_role(key, None if event.deleted else event.stored)
        else:
            self._set_binding(key, None if event.deleted else event.stored)

    def decide(self, attributes: Attributes) -> Decision:
        problems: list[str] = []
        for binding, subject in self._bindings_of(attributes.user, attributes.namespace):
            rules = self.rules_of(binding.role)
            if rules is None:
                problems.append(_missing(binding))
            elif rules.allow(attributes):
                return Decision(Verdict.ALLOW, binding.describe(subject))
        if problems:
            return Decision(Verdict.NO_OPINION, f"RBAC: {_aggregate(problems)}")
        return _NO_OPINION

    def rules_for(self, user: User, namespace: str) -> tuple[list[Object], list[str]]:
        """All rules that the user has in a namespace ("": cluster-wide), and what could not be resolved."""
        found: list[Object] = []
        problems: list[str] = []
        for binding, _ in self._bindings_of(user, namespace):
            rules = self.rules_of(binding.role)
            if rules is None:
                problems.append(_missing(binding))
            else:
                found += rules.rules
        return found, problems

    def rules_of(self, role: tuple[str, str]) -> Rules | None:
        """The rules of a role, aggregation included; None when there is no such role."""
        known = self._effective.get(role)
        if known is None and role in self._roles:
            known = self._effective[role] = Rules(self._collect(role, set()))
        return known

    def _bindings_of(self, user: User, namespace: str) -> Iterator[tuple[Binding, str]]:
        for subject in (("User", user.name), *(("Group", group) for group in user.groups)):
            for binding, text in self._by_subject.get(subject, {}).values():
                if not binding.namespace or binding.namespace == namespace:
                    yield binding, text

    def _collect(self, name: tuple[str, str], seen: set[tuple[str, str]]) -> list[Object]:
        seen.add(name)
        role = self._roles[name]
        found = list(role.rules)
        for selector in role.aggregates:
            for other, candidate in self._roles.items():
                if other not in seen and not other[0] and selector.matches(candidate.labels):
                    found += [rule for rule in self._collect(other, seen) if rule not in found]
        return found

    def _set_role(self, key: str, stored: Stored | None) -> None:
        cluster = key.startswith(CLUSTER_ROLES)
        namespace, _, name = ("", "", key.removeprefix(CLUSTER_ROLES)) if cluster else _split(key, ROLES)
        self._effective.clear()  # aggregation may reach any other role; they come back as they are asked for
        if stored is None:
            self._roles.pop((namespace, name), None)
        else:
            self._roles[namespace, name] = _role(stored.object)

    def _set_binding(self, key: str, stored: Stored | None) -> None:
        old = self._bindings.pop(key, None)
        for subject, _ in old.subjects if old else ():
            self._by_subject[subject].pop(key, None)
        if stored is None:
            return
        namespace = "" if key.startswith(CLUSTER_BINDINGS) else _split(key, BINDINGS)[0]
        binding = _binding(stored.object, namespace)
        self._bindings[key] = binding
        for subject, text in binding.subjects:
            self._by_subject.setdefault(subject, {})[key] = (binding, text)


def _role(obj: Object) -> Role:
    aggregation = (obj.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    chosen = tuple(_chosen(selector) for selector in aggregation)
    return Role(obj.get("rules") or [], obj["metadata"].get("labels") or {}, chosen)


def _chosen(selector: Object) -> selectors.Selector:
    """Whom an aggregated role takes in. What others wrote into etcd may be anything: unreadable, it takes in nobody."""
    try:
        return selectors.from_label_selector(selector)
    except selectors.SelectorError:
        return selectors.NOTHING


def _binding(obj: Object, namespace: str) -> Binding:
    subjects = tuple(_subject(subject, namespace) for subject in obj.get("subjects") or ())
    role = obj.get("roleRef") or {}
    return Binding(obj["metadata"]["name"], namespace, role.get("kind", ""), role.get("name", ""), subjects)


def _subject(subject: Object, namespace: str) -> tuple[Subject, str]:
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind != "ServiceAccount":
        return (kind, name), f'{kind} "{name}"'
    home = subject.get("namespace") or namespace
    return ("User", f"system:serviceaccount:{home}:{name}"), f'ServiceAccount "{name}/{home}"'


def _split(key: str, prefix: str) -> tuple[str, str, str]:
    return key.removeprefix(prefix).partition("/")


def _missing(binding: Binding) -> str:
    return f'{binding.role_kind.lower()}.rbac.authorization.k8s.io "{binding.role_name}" not found'


def _aggregate(problems: list[str]) -> str:
    distinct = list(dict.fromkeys(problems))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
