"""PodDisruptionBudgets: what their status says, and what the eviction API does about it."""

from __future__ import annotations

import pytest

from apimachinery import errors, gvr, objects
from apimachinery.objects import Object
from client.rest import Client
from tests.component.controllers import workloads
from tests.component.controllers.conftest import gone, items, until

pytestmark = pytest.mark.usefixtures("kubelet")

CONFIG_MAPS = gvr.GVR("", "v1", "configmaps")
REPLICATION_CONTROLLERS = gvr.GVR("", "v1", "replicationcontrollers")


def budget(**spec: object) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": selector} | spec,
    }


async def counted(client: Client, namespace: str, **expected: int) -> Object:
    """The budget, once its status says all of `expected` of its present generation."""
    found: list[Object] = []

    async def check() -> bool:
        found[:] = [await client.get(gvr.POD_DISRUPTION_BUDGETS, "web", namespace)]
        status = found[0].get("status") or {}
        fresh = status.get("observedGeneration") == found[0]["metadata"]["generation"]
        return fresh and {key: status.get(key) for key in expected} == expected

    await until(check, f"the budget says {expected}")
    return found[0]


async def evict(client: Client, namespace: str) -> str:
    name = objects.name_of((await items(client, gvr.PODS, namespace))[0])
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await client.create(gvr.PODS, eviction, namespace, name=name, subresource="eviction")
    return name


async def test_evictions_are_refused_until_the_budget_has_something_to_give(client: Client, namespace: str) -> None:
    await client.create(gvr.DEPLOYMENTS, workloads.deployment(), namespace)
    await client.create(gvr.POD_DISRUPTION_BUDGETS, budget(minAvailable="100%"), namespace)
    full = await counted(client, namespace, expectedPods=3, desiredHealthy=3, currentHealthy=3, disruptionsAllowed=0)
    assert objects.condition(full, "DisruptionAllowed")["reason"] == "InsufficientPods"  # type: ignore[index]
    with pytest.raises(errors.TooManyRequests) as refused:
        await evict(client, namespace)
    [cause] = refused.value.to_status()["details"]["causes"]
    assert cause["message"] == "The disruption budget web needs 3 healthy pods and has 3 currently"

    change = {"spec": {"minAvailable": None, "maxUnavailable": 1}}
    await client.patch(gvr.POD_DISRUPTION_BUDGETS, "web", change, namespace)
    await counted(client, namespace, desiredHealthy=2, disruptionsAllowed=1)
    await gone(client, gvr.PODS, await evict(client, namespace), namespace)
    refilled = await counted(client, namespace, currentHealthy=3, disruptionsAllowed=1)
    assert "disruptedPods" not in refilled["status"]


async def test_pods_whose_owner_is_asked_by_its_scale_are_counted(client: Client, namespace: str) -> None:
    """A ReplicationController of two: no loop of ours makes its pods, so the test does."""
    owner = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"}}
    owner = await client.create(
        REPLICATION_CONTROLLERS, owner | {"spec": {"replicas": 2, "template": workloads.template("web")}}, namespace
    )
    await client.create(gvr.POD_DISRUPTION_BUDGETS, budget(maxUnavailable="50%"), namespace)
    await client.create(gvr.PODS, pod(owner), namespace)
    await counted(client, namespace, expectedPods=2, desiredHealthy=1, currentHealthy=1, disruptionsAllowed=0)


async def test_pods_whose_owner_cannot_be_scaled_allow_nothing(client: Client, namespace: str) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
    owner = await client.create(CONFIG_MAPS, owner, namespace)
    await client.create(gvr.POD_DISRUPTION_BUDGETS, budget(maxUnavailable=1), namespace)
    await client.create(gvr.PODS, pod(owner), namespace)

    async def failed() -> bool:
        found = await client.get(gvr.POD_DISRUPTION_BUDGETS, "web", namespace)
        condition = objects.condition(found, "DisruptionAllowed") or {}
        return (condition.get("reason"), condition.get("message")) == (
            "SyncFailed",
            "configmaps does not implement the scale subresource",
        )

    await until(failed, "the budget says that it cannot be worked out")


def pod(owner: Object) -> Object:
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")} | {"controller": True}
    template = workloads.template("web")
    metadata = template["metadata"] | {"generateName": "web-", "ownerReferences": [reference]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
