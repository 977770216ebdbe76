from __future__ import annotations

import pytest

from apimachinery.objects import Object
from tests.unit.scheduler.build import decide, node, pod, taint

AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
        }
    }
}


@pytest.mark.parametrize(
    ("candidate", "hopeless", "reason"),
    [
        (pod(cpu="5"), node("a"), "1 Insufficient cpu"),
        (pod(memory="9Gi"), node("a"), "1 Insufficient memory"),
        (pod(), node("a", pods=0), "1 Too many pods"),
        (pod(), node("a", unschedulable=True), "1 node(s) were unschedulable"),
        (
            pod(),
            node("a", taints=[taint("node.kubernetes.io/not-ready")]),
            "1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }",
        ),
        (
            pod(),
            node("a", taints=[taint("team", "NoExecute", "red")]),
            "1 node(s) had untolerated taint {team: red}",
        ),
        (pod(nodeSelector={"disk": "ssd"}), node("a"), "1 node(s) didn't match Pod's node affinity/selector"),
        (pod(affinity=AFFINITY), node("a"), "1 node(s) didn't match Pod's node affinity/selector"),
    ],
)
def test_a_node_that_cannot_take_the_pod_is_refused_in_upstreams_words(
    candidate: Object, hopeless: Object, reason: str
) -> None:
    decision = decide(candidate, [hopeless])
    assert decision.node is None
    assert decision.message == f"0/1 nodes are available: {reason}."


def test_reasons_are_counted_and_sorted() -> None:
    nodes = [node("a", cpu="1"), node("b", cpu="1"), node("c", unschedulable=True)]
    assert decide(pod(cpu="2"), nodes).message == (
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
    )


def test_one_node_can_lack_several_resources() -> None:
    decision = decide(pod(cpu="9", memory="99Gi"), [node("a", pods=0)])
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods."


def test_without_nodes_the_message_says_so() -> None:
    assert decide(pod(), []).message == "no nodes available to schedule pods"


def test_what_runs_on_the_node_counts_against_it() -> None:
    running = [pod("r", cpu="3", node="a")]
    assert decide(pod(cpu="1"), [node("a")], running).node == "a"
    assert decide(pod(cpu="1001m"), [node("a")], running).node is None


def test_a_tolerated_taint_does_not_matter() -> None:
    tainted = node("a", taints=[taint("team", value="red")], unschedulable=True)
    tolerations = [
        {"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    ]
    assert decide(pod(tolerations=tolerations), [tainted]).node == "a"


def test_a_soft_taint_keeps_nobody_out() -> None:
    assert decide(pod(), [node("a", taints=[taint("x", "PreferNoSchedule")])]).node == "a"


@pytest.mark.parametrize(
    ("taken_ip", "wanted_ip", "fits"),
    [("", "", False), ("", "10.0.0.1", False), ("10.0.0.1", "10.0.0.1", False), ("10.0.0.2", "10.0.0.1", True)],
)
def test_a_host_port_is_given_once_an_address(taken_ip: str, wanted_ip: str, fits: bool) -> None:
    running = [pod("r", node="a", host_port=80, ip=taken_ip)]
    decision = decide(pod(host_port=80, ip=wanted_ip), [node("a")], running)
    assert (decision.node == "a") is fits
    if not fits:
        assert "didn't have free ports for the requested pod ports" in decision.message


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}, True),
        ({"key": "disk", "operator": "NotIn", "values": ["ssd"]}, False),
        ({"key": "gpu", "operator": "NotIn", "values": ["a100"]}, True),
        ({"key": "gpu", "operator": "Exists"}, False),
        ({"key": "gpu", "operator": "DoesNotExist"}, True),
        ({"key": "cores", "operator": "Gt", "values": ["7"]}, True),
        ({"key": "cores", "operator": "Lt", "values": ["7"]}, False),
    ],
)
def test_node_affinity_understands_every_operator(expression: Object, fits: bool) -> None:
    terms = [{"matchExpressions": [expression]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    found = decide(pod(affinity=affinity), [node("a", labels={"disk": "ssd", "cores": "8"})])
    assert (found.node == "a") is fits


def test_terms_are_alternatives_and_fields_select_by_name() -> None:
    terms = [
        {"matchExpressions": [{"key": "none", "operator": "Exists"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]},
    ]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert decide(pod(affinity=affinity), [node("a"), node("b")]).node == "b"


def test_a_term_without_requirements_matches_no_node() -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}}
    assert decide(pod(affinity=affinity), [node("a")]).node is None
