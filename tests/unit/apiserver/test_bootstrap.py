"""The roles that every cluster has: they parse, they fit together, and they come back when they were cut."""

from __future__ import annotations

import copy

import pytest

from apiserver import bootstrap
from apiserver.authorization import bootstrap_roles


def by_name(kind: str) -> dict[str, dict[str, object]]:
    return {obj["metadata"]["name"]: obj for obj in bootstrap.rbac_objects() if obj["kind"] == kind}


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("get,list on pods", {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}),
        (
            "get on b,a in core,apps named x,y",
            {"apiGroups": ["", "apps"], "resources": ["a", "b"], "verbs": ["get"], "resourceNames": ["x", "y"]},
        ),
        ("get at /api,/api/*", {"nonResourceURLs": ["/api", "/api/*"], "verbs": ["get"]}),
    ],
)
def test_a_line_reads_as_a_rule(line: str, rule: dict[str, list[str]]) -> None:
    assert bootstrap_roles.rule(line) == rule


def test_every_binding_binds_a_role_that_there_is() -> None:
    roles = by_name("ClusterRole")
    for binding in by_name("ClusterRoleBinding").values():
        assert binding["roleRef"]["name"] in roles  # type: ignore[index]


def test_every_rule_is_complete() -> None:
    for obj in bootstrap.rbac_objects():
        for rule in obj.get("rules") or ():
            assert all(rule["verbs"]), obj["metadata"]["name"]
            assert all(rule.get("resources", ["x"])), obj["metadata"]["name"]


def test_a_cut_role_regains_its_rules_and_keeps_what_was_added() -> None:
    wanted = by_name("ClusterRole")["system:discovery"]
    existing = copy.deepcopy(wanted)
    added = {"nonResourceURLs": ["/extra"], "verbs": ["get"]}
    existing["rules"] = [added]
    changed = bootstrap.reconciled(existing, wanted)
    assert changed is not None
    assert changed["rules"][0] == added
    assert bootstrap.reconciled(changed, wanted) is None


def test_a_role_that_opted_out_is_left_alone() -> None:
    wanted = by_name("ClusterRole")["system:discovery"]
    existing = copy.deepcopy(wanted)
    existing["rules"] = []
    existing["metadata"]["annotations"][bootstrap.AUTO_UPDATE] = "false"  # type: ignore[index]
    assert bootstrap.reconciled(existing, wanted) is None


def test_lost_subjects_come_back() -> None:
    wanted = by_name("ClusterRoleBinding")["cluster-admin"]
    existing = copy.deepcopy(wanted)
    existing["subjects"] = []
    changed = bootstrap.reconciled(existing, wanted)
    assert changed is not None
    assert changed["subjects"] == wanted["subjects"]


def test_a_moved_apiserver_is_put_behind_its_service() -> None:
    _, slice_, endpoints = bootstrap.own_service("10.96.0.0/16", "10.0.0.5", 6443)
    _, moved, _ = bootstrap.own_service("10.96.0.0/16", "10.0.0.6", 6443)
    assert bootstrap.reconciled(slice_, slice_) is None
    assert bootstrap.reconciled(endpoints, endpoints) is None
    changed = bootstrap.reconciled(slice_, moved)
    assert changed is not None
    assert changed["endpoints"][0]["addresses"] == ["10.0.0.6"]
