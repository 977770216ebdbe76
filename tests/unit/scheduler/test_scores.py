from __future__ import annotations

import random
from collections import Counter
from typing import Any

from scheduler import config, cycle, podinfo
from tests.unit.scheduler.build import decide, default_profile, node, pod, snapshot, taint

GIGABYTE = 1 << 30


def only(plugin: str, **args: Any) -> Any:
    """A profile with the filters and one score."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": plugin, "weight": 1}]}},
                "pluginConfig": [{"name": plugin, "args": args}],
            }
        ],
    }
    return config.parse(document).profiles[0]


def totals(decision: Any) -> dict[str, int]:
    return dict(zip(decision.feasible, decision.totals(), strict=True))


def test_least_allocated_prefers_the_emptier_node_by_upstreams_formula() -> None:
    running = [pod("r", cpu="2", memory="4Gi", node="a")]
    decision = decide(pod(cpu="1", memory="2Gi"), [node("a"), node("b")], running, only("NodeResourcesFit"))
    # a: 1 of 4 cores and 2 of 8 GiB left: 25; b: 3 of 4 and 6 of 8 left: 75
    assert totals(decision) == {"a": 25, "b": 75}
    assert decision.node == "b"


def test_most_allocated_packs() -> None:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    running = [pod("r", cpu="2", node="a")]
    profile = only("NodeResourcesFit", scoringStrategy=strategy)
    assert decide(pod(cpu="1"), [node("a"), node("b")], running, profile).node == "a"


def test_pods_that_ask_for_nothing_still_spread() -> None:
    running = [pod("r", node="a")]
    assert decide(pod(), [node("a"), node("b")], running).node == "b"


def test_balanced_allocation_prefers_even_use() -> None:
    running = [pod("r", cpu="2", node="a"), pod("s", memory="4Gi", node="b")]
    profile = only("NodeResourcesBalancedAllocation")
    decision = decide(pod(memory="2Gi"), [node("a"), node("b")], running, profile)
    # a: CPU 2/4, memory 2/8: deviation 0.125; b: CPU 0, memory 6/8: 0.375
    assert totals(decision) == {"a": 87, "b": 62}


def test_a_node_with_soft_taints_comes_last() -> None:
    decision = decide(
        pod(), [node("a", taints=[taint("x", "PreferNoSchedule")]), node("b")], (), only("TaintToleration")
    )
    assert totals(decision) == {"a": 0, "b": 100}


def test_preferred_affinity_is_weighed() -> None:
    def wish(weight: int, label: str) -> dict[str, Any]:
        return {"weight": weight, "preference": {"matchExpressions": [{"key": label, "operator": "Exists"}]}}

    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish(10, "x"), wish(40, "y")]}}
    nodes = [node("a", labels={"x": "1"}), node("b", labels={"y": "1"}), node("c")]
    assert totals(decide(pod(affinity=affinity), nodes, (), only("NodeAffinity"))) == {"a": 25, "b": 100, "c": 0}


def test_a_node_that_has_a_big_image_is_preferred_the_more_the_more_nodes_have_it() -> None:
    with_image = {"images": {"docker.io/library/big:latest": GIGABYTE}}
    few = decide(pod(image="big"), [node("a", **with_image), node("b"), node("c")], (), only("ImageLocality"))
    many = decide(
        pod(image="big"), [node("a", **with_image), node("b", **with_image), node("c")], (), only("ImageLocality")
    )
    assert totals(few) == {"a": 32, "b": 0, "c": 0}
    assert totals(many)["a"] > totals(few)["a"]


def test_equal_nodes_are_chosen_among_by_chance_and_chance_can_be_replayed() -> None:
    nodes = snapshot([node("a"), node("b"), node("c")])
    chance = random.Random(7)
    counts = Counter(cycle.schedule(podinfo.of(pod()), nodes, default_profile(), chance).node for _ in range(300))
    assert set(counts) == {"a", "b", "c"}
    assert min(counts.values()) > 60
    again = [cycle.schedule(podinfo.of(pod()), nodes, default_profile(), random.Random(3)).node for _ in range(5)]
    assert len(set(again)) == 1


def test_a_decision_prints_its_table() -> None:
    running = [pod("r", cpu="2", node="a")]
    text = str(decide(pod(cpu="1"), [node("a"), node("b"), node("c", unschedulable=True)], running))
    assert text.splitlines()[0] == "default/p: b"
    assert "  c: NodeUnschedulable: node(s) were unschedulable" in text
    assert "NodeResourcesFit" in text.splitlines()[-1]


def test_in_a_big_cluster_the_search_ends_when_there_are_enough_and_the_next_goes_on_from_there() -> None:
    nodes = snapshot([node(f"n{n}") for n in range(500)])
    first = cycle.schedule(podinfo.of(pod()), nodes, default_profile(), random.Random(1))
    assert len(first.feasible) == 500 * 46 // 100
    second = cycle.schedule(podinfo.of(pod()), nodes, default_profile(), random.Random(1), first.next_start)
    assert set(first.feasible).isdisjoint(second.feasible)
