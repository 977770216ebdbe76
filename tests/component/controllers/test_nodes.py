"""Nodes that report and nodes that fall silent. A heartbeat here is a renewal of the node's Lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from apimachinery import clock, gvr, objects
from apimachinery.objects import Object
from client.rest import Client
from tests.component.controllers import workloads
from tests.component.controllers.conftest import condition_becomes, gone, repeated, until

LEASES = "kube-node-lease"


class Heart:
    """The reports of some nodes. `stop` makes one fall silent."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._beating: set[str] = set()

    async def start(self, name: str) -> None:
        await self._client.create(gvr.NODES, workloads.node(name))
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
        body = {"status": {"conditions": [condition]}}
        await self._client.patch(gvr.NODES, name, body, patch_type="strategic", subresource="status")
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": {}}
        await self._client.create(gvr.LEASES, lease, LEASES)
        self._beating.add(name)

    def stop(self, name: str) -> None:
        self._beating.discard(name)

    def resume(self, name: str) -> None:
        self._beating.add(name)

    async def beat(self) -> None:
        for name in list(self._beating):
            body = {"spec": {"renewTime": clock.rfc3339_micro(clock.SystemClock().now())}}
            await self._client.patch(gvr.LEASES, name, body, LEASES)


@pytest.fixture
async def heart(client: Client) -> AsyncIterator[Heart]:
    subject = Heart(client)
    async with repeated(subject.beat, 0.3):
        yield subject
    await client.delete_collection(gvr.NODES)
    await client.delete_collection(gvr.LEASES, LEASES)


def pod_on(node: str, name: str, *tolerations: Object) -> Object:
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}], "tolerations": list(tolerations)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": spec | {"terminationGracePeriodSeconds": 0},
    }


async def taint_names(client: Client, node: str) -> set[str]:
    found = (await client.get(gvr.NODES, node))["spec"].get("taints") or []
    return {f"{taint['key']}:{taint['effect']}" for taint in found}


async def test_each_node_gets_a_range_of_its_own(client: Client, heart: Heart) -> None:
    for name in ("one", "two"):
        await heart.start(name)

    async def given() -> bool:
        return all([(await client.get(gvr.NODES, name))["spec"].get("podCIDR") for name in ("one", "two")])

    await until(given, "both nodes have a podCIDR")
    specs = [(await client.get(gvr.NODES, name))["spec"] for name in ("one", "two")]
    assert specs[0]["podCIDR"] != specs[1]["podCIDR"]
    for spec in specs:
        assert spec["podCIDR"].startswith("10.44.") and spec["podCIDR"].endswith(".0/24")
        assert spec["podCIDRs"] == [spec["podCIDR"]]


async def test_a_silent_node_becomes_unknown_and_loses_its_pods_in_the_end(
    client: Client, heart: Heart, namespace: str
) -> None:
    await heart.start("good")
    await heart.start("bad")
    patient = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    await client.create(gvr.PODS, pod_on("bad", "leaves", {**patient, "tolerationSeconds": 0}), namespace)
    await client.create(gvr.PODS, pod_on("bad", "waits", {**patient, "tolerationSeconds": 600}), namespace)
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await client.patch(gvr.PODS, "waits", ready, namespace, patch_type="strategic", subresource="status")
    heart.stop("bad")
    node = await condition_becomes(client, gvr.NODES, "bad", None, "Ready", "Unknown")
    assert objects.condition(node, "Ready")["reason"] == "NodeStatusUnknown"  # type: ignore[index]
    await gone(client, gvr.PODS, "leaves", namespace)
    await condition_becomes(client, gvr.PODS, "waits", namespace, "Ready", "False")
    assert await taint_names(client, "bad") == {
        "node.kubernetes.io/unreachable:NoSchedule",
        "node.kubernetes.io/unreachable:NoExecute",
    }
    assert await taint_names(client, "good") == set()


async def test_a_node_that_reports_again_loses_its_taints(client: Client, heart: Heart) -> None:
    for name in ("steady", "shaky"):
        await heart.start(name)
    heart.stop("shaky")
    await condition_becomes(client, gvr.NODES, "shaky", None, "Ready", "Unknown")
    heart.resume("shaky")
    body = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await client.patch(gvr.NODES, "shaky", body, patch_type="strategic", subresource="status")

    async def clean() -> bool:
        return await taint_names(client, "shaky") == set()

    await until(clean, "no taints")


async def test_a_short_silence_evicts_nobody(client: Client, heart: Heart, namespace: str) -> None:
    for name in ("steady", "slow"):
        await heart.start(name)
    await client.create(gvr.PODS, pod_on("slow", "stays"), namespace)
    heart.stop("slow")
    await asyncio.sleep(1.5)  # half of the grace period, by the clock the controller goes by
    heart.resume("slow")
    await asyncio.sleep(2.5)  # longer than what was left of it
    assert objects.is_condition_true(await client.get(gvr.NODES, "slow"), "Ready")
    assert not objects.is_deleting(await client.get(gvr.PODS, "stays", namespace))


async def test_when_all_nodes_are_silent_nobody_is_evicted(client: Client, heart: Heart, namespace: str) -> None:
    await heart.start("only")
    await client.create(gvr.PODS, pod_on("only", "stays"), namespace)
    heart.stop("only")
    await condition_becomes(client, gvr.NODES, "only", None, "Ready", "Unknown")

    async def tainted() -> bool:
        return "node.kubernetes.io/unreachable:NoSchedule" in await taint_names(client, "only")

    await until(tainted, "nothing more is scheduled there")
    assert await taint_names(client, "only") == {"node.kubernetes.io/unreachable:NoSchedule"}
    assert not objects.is_deleting(await client.get(gvr.PODS, "stays", namespace))
