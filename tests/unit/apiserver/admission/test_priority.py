from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from apimachinery import errors
from apimachinery.objects import Object
from apiserver.admission.chain import Review
from apiserver.admission.priority import Priority
from apiserver.registry.call import LOOPBACK, Call
from apiserver.scheme.resources import Resource
from apiserver.storage.store import Store
from apiserver.storage.types import Stored

PODS = Resource("", "v1", "pods", "Pod", "pod", True, "/registry/pods")
CLASSES = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "priorityclass", False, "/registry/priorityclasses"
)


def plugin(*classes: Object) -> Priority:
    stored = {f"/registry/priorityclasses/{one['metadata']['name']}": one for one in classes}
    found = {key: Stored(key, orjson.dumps(one), 1) for key, one in stored.items()}
    store: Any = SimpleNamespace(cached=found.get, cached_list=lambda _: list(found.values()))
    return Priority(cast(Store, store))


def priority_class(name: str, **fields: Any) -> Object:
    return {"metadata": {"name": name}} | fields


async def admitted(priority: Priority, row: Resource, obj: Object, operation: str = "CREATE") -> Object:
    result = await priority.mutate(Review(Call(LOOPBACK, row, operation.lower()), operation, obj, None))
    assert result is not None
    return result


async def test_a_class_without_a_value_counts_as_zero() -> None:
    priority = plugin(priority_class("quiet", globalDefault=True))
    pod = await admitted(priority, PODS, {"metadata": {"name": "p"}, "spec": {}})
    assert pod["spec"] == {
        "priority": 0,
        "priorityClassName": "quiet",
        "preemptionPolicy": "PreemptLowerPriority",
    }


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
async def test_a_second_default_is_refused(operation: str) -> None:
    priority = plugin(priority_class("first", value=1, globalDefault=True))
    with pytest.raises(errors.Forbidden, match="PriorityClass first is already marked as default"):
        await admitted(priority, CLASSES, priority_class("second", value=2, globalDefault=True), operation)


async def test_the_default_itself_may_be_updated() -> None:
    first = priority_class("first", value=1, globalDefault=True)
    assert await admitted(plugin(first), CLASSES, first, "UPDATE") == first


async def test_an_update_leaves_the_priority_of_a_pod_alone() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {}}
    assert await admitted(plugin(priority_class("quiet", globalDefault=True)), PODS, pod, "UPDATE") == pod
