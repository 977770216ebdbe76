from __future__ import annotations

import pytest

from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from apiserver.registry.call import LOOPBACK, Call
from apiserver.scheme.resources import Resource

PODS = Resource("", "v1", "pods", "Pod", "pod", True, "/registry/pods")
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


async def admitted(*tolerations: Object, subresource: str = "") -> list[Object]:
    pod: Object = {"metadata": {"name": "p"}, "spec": {"tolerations": list(tolerations)}}
    call = Call(LOOPBACK, PODS, "create", subresource=subresource)
    result = await DefaultTolerationSeconds().mutate(Review(call, "CREATE", pod, None))
    assert result is not None
    return list(result["spec"]["tolerations"])


def added(key: str) -> Object:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


async def test_a_pod_gets_five_minutes_for_both_taints() -> None:
    assert await admitted() == [added(NOT_READY), added(UNREACHABLE)]


@pytest.mark.parametrize(
    "own", [{"key": NOT_READY, "operator": "Exists"}, {**added(NOT_READY), "tolerationSeconds": 5}]
)
async def test_a_pod_that_has_an_opinion_keeps_it(own: Object) -> None:
    assert await admitted(own) == [own, added(UNREACHABLE)]


async def test_a_pod_that_tolerates_everything_is_left_alone() -> None:
    everything = {"operator": "Exists"}
    assert await admitted(everything) == [everything]


async def test_tolerating_another_effect_is_no_opinion() -> None:
    other = {"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"}
    assert await admitted(other) == [other, added(NOT_READY), added(UNREACHABLE)]


async def test_a_subresource_is_not_touched() -> None:
    assert await admitted(subresource="status") == []
