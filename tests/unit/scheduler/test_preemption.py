from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from apimachinery.objects import Object
from scheduler import cycle, podinfo, preemption
from scheduler.cache import Cache
from scheduler.preemption import NoPlan, Plan
from tests.unit.scheduler.build import default_profile, node, pod, snapshot


def plan(candidate: Object, nodes: Iterable[Object], pods: Iterable[Object], budgets: Iterable[Object] = ()) -> Any:
    info, scene, profile = podinfo.of(candidate), snapshot(nodes, pods), default_profile()
    decision = cycle.schedule(info, scene, profile, random.Random(1))
    assert decision.node is None, "it fits: nothing to preempt"
    return preemption.plan(info, scene, profile, decision, [preemption.budget_of(b) for b in budgets])


def names(found: Plan) -> set[str]:
    return {victim.key.name for victim in found.victims}


def budget(app: str, allowed: int) -> Object:
    spec = {"selector": {"matchLabels": {"app": app}}}
    return {"metadata": {"namespace": "default"}, "spec": spec, "status": {"disruptionsAllowed": allowed}}


def test_only_as_many_leave_as_must_and_the_least_important_first() -> None:
    running = [
        pod("low", cpu="1", node="a", priority=1),
        pod("mid", cpu="1", node="a", priority=5),
        pod("big", cpu="2", node="a", priority=3),
    ]
    found = plan(pod(cpu="1", priority=10), [node("a")], running)
    assert (found.node, names(found)) == ("a", {"low"})


def test_pods_of_the_same_priority_stay() -> None:
    found = plan(pod(cpu="1", priority=10), [node("a")], [pod("r", cpu="4", node="a", priority=10)])
    assert found == NoPlan("0/1 nodes are available: 1 No preemption victims found for incoming pod.")


def test_where_evicting_does_not_help_nobody_is_evicted() -> None:
    nodes = [node("a", unschedulable=True), node("b", cpu="1")]
    running = [pod("r", cpu="1", node="b", priority=0)]
    found = plan(pod(cpu="2", priority=10), nodes, running)
    assert found == NoPlan("0/2 nodes are available: 2 Preemption is not helpful for scheduling.")


def test_emptying_that_is_not_enough_gives_the_reason() -> None:
    running = [pod("low", cpu="1", node="a", priority=1), pod("high", cpu="3", node="a", priority=100)]
    found = plan(pod(cpu="2", priority=10), [node("a")], running)
    assert found == NoPlan("0/1 nodes are available: 1 Insufficient cpu.")


def test_the_node_whose_victims_matter_least_is_taken() -> None:
    running = [pod("x", cpu="4", node="a", priority=7), pod("y", cpu="4", node="b", priority=2)]
    assert plan(pod(cpu="1", priority=10), [node("a"), node("b")], running).node == "b"


def test_among_equals_the_one_that_ran_shortest_goes() -> None:
    running = [
        pod("old", cpu="4", node="a", created="2026-01-01T00:00:00Z"),
        pod("new", cpu="4", node="b", created="2026-01-02T00:00:00Z"),
    ]
    assert plan(pod(cpu="1", priority=10), [node("a"), node("b")], running).node == "b"


@pytest.mark.parametrize(("allowed", "chosen"), [(0, "b"), (1, "a")])
def test_budgets_are_kept_where_that_is_possible(allowed: int, chosen: str) -> None:
    running = [
        pod("guarded", cpu="4", node="a", priority=1, labels={"app": "db"}),
        pod("free", cpu="4", node="b", priority=5),
    ]
    found = plan(pod(cpu="1", priority=10), [node("a"), node("b")], running, [budget("db", allowed)])
    assert found.node == chosen
    assert found.broken_budgets == 0


def test_a_pod_that_may_not_preempt_does_not() -> None:
    running = [pod("r", cpu="4", node="a")]
    found = plan(pod(cpu="1", priority=10, preemptionPolicy="Never"), [node("a")], running)
    assert found == NoPlan("not eligible due to preemptionPolicy=Never.")


def test_while_room_is_being_made_nobody_else_is_evicted() -> None:
    leaving = pod("r", cpu="4", node="a")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    candidate = pod(cpu="1", priority=10)
    candidate["status"]["nominatedNodeName"] = "a"
    assert plan(candidate, [node("a")], [leaving]) == NoPlan(preemption.TERMINATING)


def test_a_victim_that_forbids_by_anti_affinity_can_be_evicted() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    far = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    running = [pod("grump", node="a", affinity=far), pod("other", node="a")]
    found = plan(pod(labels={"app": "web"}, priority=10), [node("a")], running)
    assert names(found) == {"grump"}


def test_room_made_for_a_pod_is_not_given_to_a_lesser_one() -> None:
    cache = Cache(lambda _: {})
    cache.update_node(node("a"))
    urgent = podinfo.of(pod("urgent", cpu="4", priority=10))
    cache.nominate(urgent, "a")
    lesser, greater = podinfo.of(pod("lesser", cpu="1")), podinfo.of(pod("greater", cpu="1", priority=99))

    def node_for(info: podinfo.PodInfo) -> str | None:
        return cycle.schedule(info, cache.snapshot_for(info), default_profile(), random.Random(1)).node

    assert node_for(lesser) is None
    assert node_for(greater) == "a"
    assert node_for(urgent) == "a"
    cache.nominate(urgent, "")
    assert node_for(lesser) == "a"
