from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from apimachinery.objects import Object
from scheduler import podinfo
from scheduler.podinfo import PodInfo
from tests.unit.scheduler.build import decide, node, pod

ZONE = "topology.kubernetes.io/zone"
NODES = [node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), node("b1", labels={ZONE: "b"})]
WEB = {"app": "web"}


def spread(key: str = ZONE, skew: int = 1, action: str = "DoNotSchedule", **more: Any) -> list[Object]:
    selector = {"matchLabels": WEB}
    return [{"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": action, "labelSelector": selector, **more}]


def web(name: str, on: str, **more: Any) -> Object:
    return pod(name, node=on, labels=WEB, **more)


def test_the_fuller_zone_takes_no_more() -> None:
    decision = decide(pod(labels=WEB, topologySpreadConstraints=spread()), NODES, [web("r", "a1")])
    assert decision.node == "b1"
    assert {v.reasons for _, v in decision.rejected.values()} == {
        ("node(s) didn't match pod topology spread constraints",)
    }


def test_a_larger_skew_allows_more() -> None:
    decision = decide(pod(labels=WEB, topologySpreadConstraints=spread(skew=2)), NODES, [web("r", "a1")])
    assert set(decision.feasible) == {"a1", "a2", "b1"}


def test_a_node_without_the_label_is_refused_and_evicting_would_not_help() -> None:
    decision = decide(pod(labels=WEB, topologySpreadConstraints=spread()), [node("x")])
    (_, verdict) = decision.rejected["x"]
    assert verdict.reasons == ("node(s) didn't match pod topology spread constraints (missing required label)",)
    assert not verdict.helps_to_evict


def test_with_too_few_domains_the_emptiest_counts_as_empty() -> None:
    running = [web("r1", "a1"), web("r2", "b1")]
    constraint = spread(minDomains=3)
    assert decide(pod(labels=WEB, topologySpreadConstraints=constraint), NODES, running).node is None
    assert decide(pod(labels=WEB, topologySpreadConstraints=spread()), NODES, running).node is not None


def test_pods_on_their_way_out_and_of_other_namespaces_do_not_count() -> None:
    leaving = web("r", "a1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    running = [leaving, web("s", "a2", namespace="other")]
    assert len(decide(pod(labels=WEB, topologySpreadConstraints=spread()), NODES, running).feasible) == 3


def test_zones_the_pod_may_not_enter_do_not_count_unless_it_says_so() -> None:
    running = [web("r1", "a1")]
    selector = {ZONE: "a"}
    honored = pod(labels=WEB, nodeSelector=selector, topologySpreadConstraints=spread())
    ignored = pod(labels=WEB, nodeSelector=selector, topologySpreadConstraints=spread(nodeAffinityPolicy="Ignore"))
    assert decide(honored, NODES, running).node in ("a1", "a2")
    assert decide(ignored, NODES, running).node is None


def test_match_label_keys_narrow_the_siblings_to_the_same_revision() -> None:
    old = pod("r", node="a1", labels=WEB | {"hash": "1"})
    new = pod(labels=WEB | {"hash": "2"}, topologySpreadConstraints=spread(matchLabelKeys=["hash"]))
    assert len(decide(new, NODES, [old]).feasible) == 3


def test_a_soft_constraint_prefers_the_emptier_zone() -> None:
    constraint = spread(action="ScheduleAnyway")
    running = [web("r1", "a1"), web("r2", "a2")]
    decision = decide(pod(labels=WEB, topologySpreadConstraints=constraint), NODES, running)
    row = dict(zip(decision.feasible, decision.scores[decision.plugins.index("PodTopologySpread")], strict=True))
    assert row["a1"] == row["a2"] == 0
    assert row["b1"] == 200


@pytest.mark.parametrize("cpu", ["", "100m"])
def test_replicas_of_one_controller_spread_without_being_asked(cpu: str) -> None:
    nodes = [node(f"n{n}", cpu="64", memory="256Gi") for n in range(3)]
    placed: list[Object] = []
    for number in range(9):
        name = f"p{number}"
        decision = decide(_replica(name, cpu), nodes, placed)
        assert decision.node is not None
        placed.append(pod(name, cpu=cpu, owner="rs", node=decision.node))
    assert set(Counter(one["spec"]["nodeName"] for one in placed).values()) == {3}


def _replica(name: str, cpu: str) -> PodInfo:
    return podinfo.of(pod(name, cpu=cpu, owner="rs"))
