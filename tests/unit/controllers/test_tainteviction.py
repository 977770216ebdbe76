from __future__ import annotations

from datetime import timedelta

import pytest

from apimachinery.objects import Object
from controllers import tainteviction
from tests.unit.controllers.builders import NOW, ago, pod

TAINT = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": ago(100)}
OTHER = {"key": "maintenance", "effect": "NoExecute", "timeAdded": ago(10)}


def tolerating(*tolerations: Object, age: float = 3600) -> Object:
    made = pod("p", age=age)
    made["spec"]["tolerations"] = list(tolerations)
    return made


def tolerate(taint: Object, seconds: int | None = None) -> Object:
    toleration = {"key": taint["key"], "operator": "Exists", "effect": "NoExecute"}
    return toleration if seconds is None else {**toleration, "tolerationSeconds": seconds}


@pytest.mark.parametrize(
    ("subject", "taints", "due"),
    [
        (tolerating(), [], None),
        (tolerating(), [TAINT], 0),
        (tolerating(tolerate(TAINT)), [TAINT], None),
        (tolerating(tolerate(TAINT, 300)), [TAINT], 200),
        (tolerating(tolerate(TAINT, 300), age=50), [TAINT], 250),  # made after the taint: its own time
        (tolerating(tolerate(TAINT, 300), tolerate(TAINT, 150)), [TAINT], 50),
        (tolerating(tolerate(TAINT, -1)), [TAINT], -100),
        (tolerating(tolerate(TAINT, 300)), [TAINT, OTHER], 0),
        (tolerating(tolerate(TAINT, 300), tolerate(OTHER, 60)), [TAINT, OTHER], 50),
        (tolerating({"operator": "Exists"}), [TAINT, OTHER], None),
    ],
)
def test_when_a_pod_has_to_go(subject: Object, taints: list[Object], due: float | None) -> None:
    expected = None if due is None else NOW + timedelta(seconds=due)
    assert tainteviction.eviction_time(subject, taints, NOW) == expected


def test_only_no_execute_evicts() -> None:
    node = {"spec": {"taints": [TAINT, {"key": "x", "effect": "NoSchedule"}]}}
    assert tainteviction.no_execute_taints(node) == [TAINT]
