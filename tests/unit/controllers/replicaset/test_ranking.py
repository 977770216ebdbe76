from __future__ import annotations

import pytest

from apimachinery.objects import Object
from controllers.replicaset import ranking
from tests.unit.controllers.builders import NOW, pod


def restarted(made: Object, count: int) -> Object:
    made["status"]["containerStatuses"] = [{"name": "c", "restartCount": count}]
    return made


COST = "controller.kubernetes.io/pod-deletion-cost"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("a", phase="Pending", node=""), pod("b", phase="Pending")),
        (pod("a", phase="Pending"), pod("b")),
        (pod("a", phase="Unknown"), pod("b")),
        (pod("a"), pod("b", ready_for=60)),
        (pod("a", ready_for=60, annotations={COST: "-1"}), pod("b", ready_for=1)),
        (pod("a", ready_for=10, age=10000), pod("b", ready_for=1000, age=10000)),
        (restarted(pod("a", ready_for=600), 3), restarted(pod("b", ready_for=600), 1)),
        (pod("a", age=10), pod("b", age=10000)),
        # about one age: chance decides, that is the uid, not who is the youngest
        (pod("a", ready_for=700, age=800), pod("b", ready_for=690, age=790)),
    ],
    ids=["unassigned", "pending", "unknown", "not-ready", "cost", "ready-later", "restarts", "younger", "uid"],
)
def test_the_first_pod_goes_first(first: Object, second: Object) -> None:
    for order in ([first, second], [second, first]):
        assert ranking.victims(order, order, 1, NOW) == [first]


def test_pods_go_from_the_node_with_most_of_the_workload() -> None:
    alone, crowded = pod("a", ready_for=60, node="n1"), pod("b", ready_for=60, node="n2")
    sibling = pod("c", ready_for=60, node="n2")  # another ReplicaSet's, of the same Deployment
    assert ranking.victims([alone, crowded], [alone, crowded, sibling], 1, NOW) == [crowded]


def test_a_pod_that_ended_does_not_crowd_a_node() -> None:
    alone, beside = pod("a", ready_for=60, node="n1"), pod("b", ready_for=60, node="n2")
    ended = pod("c", phase="Failed", node="n2")
    assert ranking.victims([alone, beside], [alone, beside, ended], 1, NOW) == [alone]


@pytest.mark.parametrize(("text", "cost"), [("5", 5), ("-5", -5), ("+5", 0), ("05", 0), ("x", 0), ("2147483648", 0)])
def test_a_deletion_cost_is_a_plain_32_bit_integer(text: str, cost: int) -> None:
    assert ranking.deletion_cost(pod("a", annotations={COST: text})) == cost
