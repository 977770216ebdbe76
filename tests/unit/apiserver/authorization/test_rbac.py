"""Decisions from roles and bindings as events bring them."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.authorization import bootstrap_roles, rbac
from apiserver.authorization.attributes import Attributes, Verdict
from apiserver.registry.call import User
from apiserver.storage.types import Event, Stored

GROUP = "rbac.authorization.k8s.io"
LIST_PODS = [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]


def change(key: str, obj: dict[str, Any] | None = None) -> Event:
    name = key.rpartition("/")[2]
    body = {"metadata": {"name": name}, **(obj or {})}
    return Event(obj is None, Stored(key, orjson.dumps(body), 1), None)


def binding(kind: str, role: str, *subjects: str) -> dict[str, Any]:
    reference = {"apiGroup": GROUP, "kind": kind, "name": role}
    return {"roleRef": reference, "subjects": [bootstrap_roles.subject(text) for text in subjects]}


def asks(user: User, namespace: str = "ns") -> Attributes:
    return Attributes(user, "list", "pods", namespace=namespace)


def test_a_cluster_binding_allows_everywhere_and_says_why() -> None:
    authorizer = rbac.RBAC()
    authorizer.apply(change("/registry/clusterroles/lister", {"rules": LIST_PODS}))
    authorizer.apply(change("/registry/clusterrolebindings/all", binding("ClusterRole", "lister", "Group team")))
    decision = authorizer.decide(asks(User("u", groups=("team",))))
    assert decision.allowed
    assert decision.reason == 'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "lister" to Group "team"'
    assert not authorizer.decide(asks(User("u"))).allowed


def test_a_role_binding_allows_in_its_namespace_alone() -> None:
    authorizer = rbac.RBAC()
    authorizer.apply(change("/registry/clusterroles/lister", {"rules": LIST_PODS}))
    authorizer.apply(change("/registry/rolebindings/ns/here", binding("ClusterRole", "lister", "User u")))
    assert authorizer.decide(asks(User("u"))).allowed
    assert not authorizer.decide(asks(User("u"), "other")).allowed
    assert not authorizer.decide(asks(User("u"), "")).allowed


def test_a_service_account_is_bound_by_its_name() -> None:
    authorizer = rbac.RBAC()
    authorizer.apply(change("/registry/roles/ns/lister", {"rules": LIST_PODS}))
    subject = {"kind": "ServiceAccount", "name": "robot"}
    bound = binding("Role", "lister") | {"subjects": [subject]}
    authorizer.apply(change("/registry/rolebindings/ns/b", bound))
    assert authorizer.decide(asks(User("system:serviceaccount:ns:robot"))).allowed
    assert not authorizer.decide(asks(User("system:serviceaccount:other:robot"))).allowed


def test_a_binding_to_a_missing_role_gives_nothing_and_says_so() -> None:
    authorizer = rbac.RBAC()
    authorizer.apply(change("/registry/clusterrolebindings/b", binding("ClusterRole", "ghost", "User u")))
    decision = authorizer.decide(asks(User("u")))
    assert decision.verdict is Verdict.NO_OPINION
    assert decision.reason == 'RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found'


def test_changes_and_deletions_take_effect_at_once() -> None:
    authorizer = rbac.RBAC()
    authorizer.apply(change("/registry/clusterroles/r", {"rules": LIST_PODS}))
    authorizer.apply(change("/registry/clusterrolebindings/b", binding("ClusterRole", "r", "User u")))
    assert authorizer.decide(asks(User("u"))).allowed
    authorizer.apply(change("/registry/clusterrolebindings/b", binding("ClusterRole", "r", "User other")))
    assert not authorizer.decide(asks(User("u"))).allowed
    assert authorizer.decide(asks(User("other"))).allowed
    authorizer.apply(change("/registry/clusterroles/r", {"rules": []}))
    assert not authorizer.decide(asks(User("other"))).allowed
    authorizer.apply(change("/registry/clusterrolebindings/b"))
    assert authorizer.rules_for(User("other"), "ns") == ([], [])


def test_an_aggregated_role_covers_what_it_selects_through_others() -> None:
    authorizer = rbac.RBAC()

    def role(name: str, label: str, gathers: str = "") -> None:
        selector = {"clusterRoleSelectors": [{"matchLabels": {"for": gathers}}]} if gathers else None
        obj: dict[str, Any] = {"metadata": {"name": name, "labels": {"for": label}}, "rules": None}
        if selector:
            obj["aggregationRule"] = selector
        else:
            obj["rules"] = LIST_PODS
        authorizer.apply(change(f"/registry/clusterroles/{name}", obj))

    role("admin", "", "admin")
    role("edit", "admin", "edit")
    authorizer.apply(change("/registry/clusterrolebindings/b", binding("ClusterRole", "admin", "User u")))
    assert not authorizer.decide(asks(User("u"))).allowed
    role("leaf", "edit")
    assert authorizer.decide(asks(User("u"))).allowed
    role("edit", "admin", "admin")  # a circle ends
    assert not authorizer.decide(asks(User("u"))).allowed


def test_an_aggregation_that_cannot_be_read_takes_in_nobody() -> None:
    authorizer = rbac.RBAC()
    odd = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    authorizer.apply(change("/registry/clusterroles/leaf", {"rules": LIST_PODS}))
    authorizer.apply(change("/registry/clusterroles/odd", {"aggregationRule": {"clusterRoleSelectors": [odd]}}))
    authorizer.apply(change("/registry/clusterrolebindings/b", binding("ClusterRole", "odd", "User u")))
    assert not authorizer.decide(asks(User("u"))).allowed
