from __future__ import annotations

import random
from typing import Any

import pytest

from apimachinery.objects import Object
from scheduler import cycle, podinfo
from tests.unit.scheduler.build import decide, default_profile, node, pod, snapshot

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
NODES = [node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), node("b1", labels={ZONE: "b"})]


def term(app: str, key: str = ZONE, **more: Any) -> Object:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def near(*terms: Object) -> Object:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def far(*terms: Object) -> Object:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def rejected(decision: Any) -> dict[str, str]:
    return {name: verdict.reasons[0] for name, (_, verdict) in decision.rejected.items()}


def test_a_pod_goes_where_its_friends_are() -> None:
    running = [pod("r", node="b1", labels={"app": "web"})]
    decision = decide(pod(affinity=near(term("web"))), NODES, running)
    assert decision.node == "b1"
    assert set(rejected(decision).values()) == {"node(s) didn't match pod affinity rules"}


def test_the_first_of_a_group_may_go_anywhere() -> None:
    assert decide(pod(labels={"app": "web"}, affinity=near(term("web"))), NODES).node is not None
    assert decide(pod(labels={"app": "other"}, affinity=near(term("web"))), NODES).node is None


def test_a_node_outside_the_topology_takes_nobody_with_affinity() -> None:
    assert decide(pod(labels={"app": "web"}, affinity=near(term("web"))), [node("x")]).node is None


def test_one_replica_a_host() -> None:
    replica = {"labels": {"app": "db"}, "affinity": far(term("db", HOST))}
    running = [pod("r1", node="a1", **replica), pod("r2", node="a2", **replica)]
    decision = decide(pod("r3", **replica), NODES, running)
    assert decision.node == "b1"
    assert set(rejected(decision)) == {"a1", "a2"}


def test_a_running_pod_keeps_others_away() -> None:
    running = [pod("r", node="a1", affinity=far(term("noisy")))]
    decision = decide(pod(labels={"app": "noisy"}), NODES, running)
    assert decision.node == "b1"
    assert rejected(decision)["a2"] == "node(s) didn't satisfy existing pods anti-affinity rules"


@pytest.mark.parametrize(
    ("more", "placed"),
    [
        ({}, None),  # the friend is in another namespace
        ({"namespaces": ["other"]}, "b1"),
        ({"namespaceSelector": {}}, "b1"),
        ({"namespaceSelector": {"matchLabels": {"team": "red"}}}, "b1"),
        ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, None),
    ],
)
def test_terms_say_in_which_namespaces_they_look(more: Object, placed: str | None) -> None:
    running = [pod("r", namespace="other", node="b1", labels={"app": "web"})]
    scene = snapshot(NODES, running, {"other": {"team": "red"}})
    candidate = podinfo.of(pod(affinity=near(term("web", **more))))
    assert cycle.schedule(candidate, scene, default_profile(), random.Random(1)).node == placed


def test_soft_terms_of_both_sides_are_weighed() -> None:
    def wish(kind: str, app: str, weight: int) -> Object:
        item = {"weight": weight, "podAffinityTerm": term(app)}
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [item]}}

    running = [
        pod("friend", node="b1", labels={"app": "cache"}),
        pod("grump", node="a1", affinity=wish("podAntiAffinity", "web", 100)),
    ]
    decision = decide(pod(labels={"app": "web"}, affinity=wish("podAffinity", "cache", 10)), NODES, running)
    row = decision.scores[decision.plugins.index("InterPodAffinity")]
    assert dict(zip(decision.feasible, row, strict=True)) == {"a1": 0, "a2": 0, "b1": 200}
