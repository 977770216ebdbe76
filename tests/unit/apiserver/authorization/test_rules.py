"""What a rule covers, and what it takes to give rights away."""

from __future__ import annotations

import pytest

from apiserver.authorization import rules
from apiserver.authorization.attributes import Attributes
from apiserver.registry.call import User

USER = User("u")


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> dict[str, list[str]]:
    made = {"verbs": verbs.split(","), "apiGroups": groups.split(","), "resources": resources.split(",")}
    return made | ({"resourceNames": names.split(",")} if names else {})


@pytest.mark.parametrize(
    ("given", "verb", "resource", "subresource", "name", "allowed"),
    [
        (rule("get", "pods"), "get", "pods", "", "p", True),
        (rule("get", "pods"), "list", "pods", "", "", False),
        (rule("*", "pods"), "anything", "pods", "", "", True),
        (rule("get", "pods"), "get", "pods", "log", "p", False),
        (rule("get", "pods/log"), "get", "pods", "log", "p", True),
        (rule("get", "pods/log"), "get", "pods", "", "p", False),
        (rule("get", "*/log"), "get", "pods", "log", "p", True),
        (rule("get", "*"), "get", "pods", "log", "p", True),
        (rule("get", "pods", "apps"), "get", "pods", "", "p", False),
        (rule("get", "pods", "*"), "get", "pods", "", "p", True),
        (rule("get", "pods", names="a,b"), "get", "pods", "", "b", True),
        (rule("get", "pods", names="a,b"), "get", "pods", "", "c", False),
        (rule("list", "pods", names="a"), "list", "pods", "", "", False),
    ],
)
def test_a_rule_covers_what_upstreams_would(
    given: dict[str, list[str]], verb: str, resource: str, subresource: str, name: str, allowed: bool
) -> None:
    question = Attributes(USER, verb, resource, subresource, "", "v1", "ns", name)
    role = rules.Rules([given])
    assert role.allow(question) is allowed
    assert role.allow(question) is allowed, "the remembered answer is the same"


@pytest.mark.parametrize(
    ("urls", "path", "allowed"),
    [
        (["/healthz"], "/healthz", True),
        (["/healthz"], "/healthz/etcd", False),
        (["/healthz/*"], "/healthz/etcd", True),
        (["/healthz/*"], "/healthz", False),
        (["*"], "/anything", True),
    ],
)
def test_a_url_rule_may_end_in_a_star(urls: list[str], path: str, allowed: bool) -> None:
    role = rules.Rules([{"verbs": ["get"], "nonResourceURLs": urls}])
    assert role.allow(Attributes(USER, "get", path=path)) is allowed
    assert not role.allow(Attributes(USER, "post", path=path))


def test_rights_that_one_does_not_hold_are_named_one_by_one() -> None:
    held = [rule("get,list", "pods"), rule("*", "*", "apps")]
    assert rules.escalates([rule("get", "pods"), rule("delete", "deployments", "apps")], held) == []
    assert rules.escalates([rule("get,watch", "pods,secrets")], held) == [
        rule("get", "secrets"),
        rule("watch", "pods"),
        rule("watch", "secrets"),
    ]


def test_a_right_to_one_name_does_not_give_the_right_to_all() -> None:
    held = [rule("get", "secrets", names="mine")]
    assert rules.escalates([rule("get", "secrets", names="mine")], held) == []
    assert rules.escalates([rule("get", "secrets")], held) == [rule("get", "secrets")]
