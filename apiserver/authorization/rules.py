"""What a rule of a role covers: pure, and quick after the first question of a kind.

Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/ and upstream's
`pkg/apis/rbac/v1/evaluation_helpers.go`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apimachinery.objects import Object
from apiserver.authorization.attributes import Attributes

ALL = "*"
# Distinct (verb, group, resource) questions that a role remembers; the table has some hundred, clients may invent more
_MEMO_MAX = 4096


class Rules:
    """The rules of one role. Immutable but for what it remembers."""

    def __init__(self, rules: Iterable[Object]) -> None:
        self.rules: list[Object] = list(rules)
        self._memo: dict[tuple[str, str, str, str], tuple[bool, frozenset[str]]] = {}

    def allow(self, attributes: Attributes) -> bool:
        if not attributes.is_resource:
            return any(covers_url(rule, attributes.verb, attributes.path) for rule in self.rules)
        key = (attributes.verb, attributes.group, attributes.resource, attributes.subresource)
        known = self._memo.get(key)
        if known is None:
            if len(self._memo) >= _MEMO_MAX:
                self._memo.clear()
            known = self._memo[key] = self._covered(*key)
        every, names = known
        return every or attributes.name in names

    def _covered(self, verb: str, group: str, resource: str, subresource: str) -> tuple[bool, frozenset[str]]:
        """Whether all objects are covered, else the names of those that are."""
        names: set[str] = set()
        for rule in self.rules:
            if covers_resource(rule, verb, group, resource, subresource):
                if not rule.get("resourceNames"):
                    return True, frozenset()
                names.update(rule["resourceNames"])
        names.discard("")
        return False, frozenset(names)


def covers_resource(rule: Object, verb: str, group: str, resource: str, subresource: str) -> bool:
    """Whether the rule is about this verb on this resource, whatever the object's name."""
    return (
        _has(rule.get("verbs"), verb)
        and _has(rule.get("apiGroups"), group)
        and _has_resource(rule.get("resources"), resource, subresource)
    )


def covers_url(rule: Object, verb: str, path: str) -> bool:
    """Whether the rule allows the verb on a path that is no resource; a final `*` stands for any ending."""
    if not _has(rule.get("verbs"), verb):
        return False
    return any(
        url in (ALL, path) or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))
        for url in rule.get("nonResourceURLs") or ()
    )


def escalates(wanted: Iterable[Object], held: Iterable[Object]) -> list[Object]:
    """The single powers (one verb, group, resource, name or URL each) among `wanted` that `held` does not cover."""
    held = list(held)
    return [power for rule in wanted for power in break_down(rule) if not any(_includes(h, power) for h in held)]


def break_down(rule: Object) -> list[Object]:
    """A rule as rules of one verb on one thing each."""
    powers: list[Object] = []
    for verb in rule.get("verbs") or ():
        for url in rule.get("nonResourceURLs") or ():
            powers.append({"verbs": [verb], "nonResourceURLs": [url]})
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                power: Object = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                names = rule.get("resourceNames") or ()
                powers += [{**power, "resourceNames": [name]} for name in names] if names else [power]
    return powers


def _includes(held: Object, power: Object) -> bool:
    if not _has(held.get("verbs"), power["verbs"][0]):
        return False
    if "nonResourceURLs" in power:
        return covers_url(held, power["verbs"][0], power["nonResourceURLs"][0])
    resource, _, subresource = power["resources"][0].partition("/")
    if not _has(held.get("apiGroups"), power["apiGroups"][0]):
        return False
    if not _has_resource(held.get("resources"), resource, subresource):
        return False
    names = held.get("resourceNames")
    return not names or any(name in names for name in power.get("resourceNames") or ())


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and (wanted in values or ALL in values)


def _has_resource(values: Any, resource: str, subresource: str) -> bool:
    if not values:
        return False
    if not subresource:
        return resource in values or ALL in values
    return f"{resource}/{subresource}" in values or f"*/{subresource}" in values or ALL in values
