"""Nobody gives away rights that he does not hold: the check on every write of a role or a binding (A5).

Whoever may `escalate` a role may put anything into it, whoever may `bind` one may bind it; system:masters may do both.
It is part of RBAC and not a plugin to be switched off, but it stands where admission's last word is, because it needs
the object as it will be stored.
Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
"""

from __future__ import annotations

from typing import Protocol

import orjson

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.authorization import rules
from apiserver.authorization.attributes import Attributes, Authorizer
from apiserver.authorization.rbac import RBAC
from apiserver.authorization.union import MASTERS
from apiserver.registry.call import Call

_GROUP = "rbac.authorization.k8s.io"
_ROLES, _BINDINGS = frozenset({"roles", "clusterroles"}), frozenset({"rolebindings", "clusterrolebindings"})
_EVERYTHING: list[Object] = [
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
]


class Write(Protocol):
    """What admission shows of a write."""

    @property
    def call(self) -> Call: ...
    @property
    def obj(self) -> Object | None: ...
    @property
    def name(self) -> str: ...


class Escalation:
    name = "RBACEscalation"

    def __init__(self, rbac: RBAC, authorizer: Authorizer) -> None:
        self._rbac = rbac
        self._authorizer = authorizer

    def handles(self, operation: str) -> bool:
        return operation in ("CREATE", "UPDATE")

    async def validate(self, review: Write) -> None:
        call, row = review.call, review.call.resource
        if row.group != _GROUP or review.obj is None or MASTERS in call.user.groups:
            return
        if row.resource in _ROLES and not self._may(call, "escalate", row.resource, review.name):
            self._require(review, _granted(review.obj))
        elif row.resource in _BINDINGS:
            self._check_binding(review, review.obj)

    def _check_binding(self, review: Write, binding: Object) -> None:
        reference = binding["roleRef"]
        kind, name = reference["kind"], reference["name"]
        resource = "clusterroles" if kind == "ClusterRole" else "roles"
        if self._may(review.call, "bind", resource, name):
            return
        role = self._rbac.rules_of(("" if kind == "ClusterRole" else review.call.namespace, name))
        if role is None:
            raise errors.not_found(_GROUP, resource, name)
        self._require(review, role.rules)

    def _may(self, call: Call, verb: str, resource: str, name: str) -> bool:
        question = Attributes(call.user, verb, resource, "", _GROUP, "v1", call.namespace, name)
        return self._authorizer.decide(question).allowed

    def _require(self, review: Write, wanted: list[Object]) -> None:
        user, row = review.call.user, review.call.resource
        held, problems = self._rbac.rules_for(user, review.call.namespace)
        missing = rules.escalates(wanted, held)
        if not missing:
            return
        groups = " ".join(_quoted(group) for group in user.groups)
        text = (
            f"user {_quoted(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions not currently "
            "held:\n" + "\n".join(describe(power) for power in compact(missing))
        )
        if problems:
            text += f"; resolution errors: [{', '.join(problems)}]"
        raise errors.forbidden(row.group, row.resource, review.name, text)


def compact(powers: list[Object]) -> list[Object]:
    """Single powers with those that differ by their verb alone taken together."""
    found: dict[bytes, Object] = {}
    for power in powers:
        rest = {key: value for key, value in power.items() if key != "verbs"}
        known = found.setdefault(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS), {**rest, "verbs": []})
        known["verbs"] += [verb for verb in power["verbs"] if verb not in known["verbs"]]
    return sorted(found.values(), key=describe)


def describe(rule: Object) -> str:
    """`{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`, as upstream writes it."""
    fields = (
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("ResourceNames", "resourceNames"),
        ("Verbs", "verbs"),
    )
    parts = [f"{name}:[{' '.join(map(_quoted, rule[field]))}]" for name, field in fields if rule.get(field)]
    return "{" + ", ".join(parts) + "}"


def _granted(role: Object) -> list[Object]:
    """What the role gives. One that gathers others may one day give anything."""
    if role.get("aggregationRule"):
        return _EVERYTHING
    found: list[Object] = role.get("rules") or []
    return found


def _quoted(text: str) -> str:
    return f'"{text}"'
