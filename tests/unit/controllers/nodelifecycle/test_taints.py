from __future__ import annotations

import pytest

from apimachinery.objects import Object
from controllers.nodelifecycle import taints
from controllers.nodelifecycle.taints import Disruption
from tests.unit.controllers.builders import NOW, ago, node

FOREIGN = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}


def names(found: list[Object]) -> list[str]:
    return [f"{taint['key'].removeprefix(taints.PREFIX)}:{taint['effect']}" for taint in found]


@pytest.mark.parametrize(
    ("subject", "evict", "expected"),
    [
        (node(), True, []),
        (node(ready="False"), False, ["not-ready:NoSchedule"]),
        (node(ready="False"), True, ["not-ready:NoExecute", "not-ready:NoSchedule"]),
        (node(ready="Unknown"), True, ["unreachable:NoExecute", "unreachable:NoSchedule"]),
        (node(MemoryPressure="True"), True, ["memory-pressure:NoSchedule"]),
        (node(DiskPressure="True", PIDPressure="True"), True, ["disk-pressure:NoSchedule", "pid-pressure:NoSchedule"]),
        (node(NetworkUnavailable="True"), True, ["network-unavailable:NoSchedule"]),
        (node(MemoryPressure="Unknown"), True, []),
        (node(ready=""), True, []),
    ],
)
def test_taints_follow_conditions(subject: Object, evict: bool, expected: list[str]) -> None:
    assert names(taints.wanted(subject, evict=evict, now=NOW)) == expected


def test_a_cordoned_node_is_unschedulable() -> None:
    subject = node()
    subject["spec"]["unschedulable"] = True
    assert names(taints.wanted(subject, evict=True, now=NOW)) == ["unschedulable:NoSchedule"]


def test_others_taints_stay_and_ours_go_with_their_cause() -> None:
    old = {"key": taints.NOT_READY, "effect": "NoExecute", "timeAdded": ago(5)}
    assert taints.wanted(node(taints=[FOREIGN, old]), evict=True, now=NOW) == [FOREIGN]


def test_a_taint_that_stays_keeps_its_time() -> None:
    old = {"key": taints.NOT_READY, "effect": "NoExecute", "timeAdded": ago(500)}
    assert old in taints.wanted(node(ready="False", taints=[old]), evict=True, now=NOW)


@pytest.mark.parametrize(
    ("ready", "not_ready", "expected"),
    [
        (0, 0, Disruption(False, 0.1)),
        (2, 0, Disruption(False, 0.1)),
        (1, 1, Disruption(False, 0.1)),
        (0, 2, Disruption(True, 0.0)),  # all of them: more likely it is we who are cut off
        (2, 3, Disruption(False, 0.0)),  # many of a small cluster: wait
        (40, 60, Disruption(False, 0.01)),  # many of a large one: slowly
        (60, 40, Disruption(False, 0.1)),
    ],
)
def test_how_fast_pods_may_be_moved_depends_on_how_much_is_down(
    ready: int, not_ready: int, expected: Disruption
) -> None:
    found = taints.disruption(ready, not_ready, rate=0.1, secondary_rate=0.01, threshold=0.55, large_size=50)
    assert found == expected
