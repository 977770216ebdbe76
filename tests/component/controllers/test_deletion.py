"""What is deleted with what: owners and dependents, namespaces and their content."""

from __future__ import annotations

import pytest

from apimachinery import errors, gvr, objects
from client.rest import Client
from tests.component.controllers import workloads
from tests.component.controllers.conftest import exists, gone, items, until

pytestmark = pytest.mark.usefixtures("kubelet")


async def deploy(client: Client, namespace: str) -> None:
    await client.create(gvr.DEPLOYMENTS, workloads.deployment(replicas=2), namespace)

    async def check() -> bool:
        return len(await items(client, gvr.PODS, namespace)) == 2

    await until(check, "two pods")


async def empty(client: Client, namespace: str) -> None:
    async def check() -> bool:
        left = [await items(client, kind, namespace) for kind in (gvr.REPLICA_SETS, gvr.PODS)]
        return not any(left)

    await until(check, "no ReplicaSet and no pod")


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_a_deployment_takes_its_replicasets_and_pods_along(client: Client, namespace: str, policy: str) -> None:
    await deploy(client, namespace)
    await client.delete(gvr.DEPLOYMENTS, "web", namespace, propagation_policy=policy)
    await gone(client, gvr.DEPLOYMENTS, "web", namespace)
    if policy == "Foreground":  # the owner was the last to go
        assert await items(client, gvr.REPLICA_SETS, namespace) == []
        assert await items(client, gvr.PODS, namespace) == []
    await empty(client, namespace)


async def test_an_orphaning_deletion_leaves_dependents_for_a_successor(client: Client, namespace: str) -> None:
    await deploy(client, namespace)
    [replicaset] = await items(client, gvr.REPLICA_SETS, namespace)
    before = {objects.uid_of(pod) for pod in await items(client, gvr.PODS, namespace)}
    await client.delete(gvr.DEPLOYMENTS, "web", namespace, propagation_policy="Orphan")
    await gone(client, gvr.DEPLOYMENTS, "web", namespace)
    name = objects.name_of(replicaset)
    assert objects.owner_references_of(await client.get(gvr.REPLICA_SETS, name, namespace)) == []
    successor = await client.create(gvr.DEPLOYMENTS, workloads.deployment(replicas=2), namespace)

    async def adopted() -> bool:
        owner = objects.controller_of(await client.get(gvr.REPLICA_SETS, name, namespace))
        return owner is not None and owner["uid"] == objects.uid_of(successor)

    await until(adopted, "the successor adopts the ReplicaSet")
    assert {objects.uid_of(pod) for pod in await items(client, gvr.PODS, namespace)} == before


async def test_an_object_whose_owner_never_existed_is_deleted(client: Client, namespace: str) -> None:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "nobody",
        "uid": "00000000-0000-0000-0000-000000000001",
    }
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "ownerReferences": [reference]}}
    await client.create(gvr.CONFIGMAPS, config_map, namespace)
    await gone(client, gvr.CONFIGMAPS, "x", namespace)


async def test_an_object_stays_while_one_of_its_owners_lives(client: Client, namespace: str) -> None:
    references = []
    for name in ("a", "b"):
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        uid = objects.uid_of(await client.create(gvr.CONFIGMAPS, owner, namespace))
        references.append({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
    child = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "child", "ownerReferences": references}}
    await client.create(gvr.SECRETS, child, namespace)
    await client.delete(gvr.CONFIGMAPS, "a", namespace)

    async def detached() -> bool:
        found = await client.get(gvr.SECRETS, "child", namespace)
        return [ref["name"] for ref in objects.owner_references_of(found)] == ["b"]

    await until(detached, "the reference to the owner that is gone is cut")
    await client.delete(gvr.CONFIGMAPS, "b", namespace)
    await gone(client, gvr.SECRETS, "child", namespace)


async def test_a_namespace_takes_everything_in_it_along(client: Client, namespace: str) -> None:
    await deploy(client, namespace)
    await client.delete(gvr.NAMESPACES, namespace)
    await gone(client, gvr.NAMESPACES, namespace)
    for kind in (gvr.DEPLOYMENTS, gvr.REPLICA_SETS, gvr.PODS, gvr.CONFIGMAPS, gvr.SERVICE_ACCOUNTS):
        assert await items(client, kind, namespace) == []


async def test_a_namespace_waits_for_what_a_finalizer_holds_and_says_so(client: Client, namespace: str) -> None:
    held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/mine"]}}
    await client.create(gvr.CONFIGMAPS, held, namespace)
    await client.delete(gvr.NAMESPACES, namespace)

    async def told() -> bool:
        found = objects.condition(await client.get(gvr.NAMESPACES, namespace), "NamespaceFinalizersRemaining")
        return found is not None and "example.com/mine in 1 resource instances" in found["message"]

    await until(told, "the condition names the finalizer")
    await client.patch(gvr.CONFIGMAPS, "held", {"metadata": {"finalizers": None}}, namespace)
    await gone(client, gvr.NAMESPACES, namespace)


async def test_every_namespace_has_its_account_and_the_ca(client: Client, namespace: str) -> None:
    published = await exists(client, gvr.CONFIGMAPS, "kube-root-ca.crt", namespace)
    assert published["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    await client.delete(gvr.SERVICE_ACCOUNTS, "default", namespace)
    await client.patch(gvr.CONFIGMAPS, "kube-root-ca.crt", {"data": {"ca.crt": "forged"}}, namespace)
    await exists(client, gvr.SERVICE_ACCOUNTS, "default", namespace)

    async def restored() -> bool:
        found = await client.get(gvr.CONFIGMAPS, "kube-root-ca.crt", namespace)
        return bool(found["data"] == published["data"])

    await until(restored, "the certificate is restored")


LAMPS = gvr.GVR("lights.example.com", "v1", "lamps")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "lamps.lights.example.com"},
    "spec": {
        "group": "lights.example.com",
        "scope": "Namespaced",
        "names": {"plural": "lamps", "kind": "Lamp"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


async def test_custom_resources_are_collected_as_any_others(client: Client, namespace: str) -> None:
    definitions = gvr.GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
    await client.create(definitions, DEFINITION)

    async def served() -> bool:
        try:
            await items(client, LAMPS, namespace)
        except errors.NotFound:
            return False
        return True

    await until(served, "lamps are served")
    head = {"apiVersion": LAMPS.api_version, "kind": "Lamp"}
    lamp = await client.create(LAMPS, head | {"metadata": {"name": "a"}}, namespace)
    owner = {"apiVersion": LAMPS.api_version, "kind": "Lamp", "name": "a", "uid": objects.uid_of(lamp)}
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-a", "ownerReferences": [owner]}}
    await client.create(gvr.CONFIGMAPS, child, namespace)
    await client.delete(LAMPS, "a", namespace)
    await gone(client, gvr.CONFIGMAPS, "of-a", namespace)
    await client.create(LAMPS, head | {"metadata": {"name": "b"}}, namespace)
    await client.delete(gvr.NAMESPACES, namespace)
    await gone(client, gvr.NAMESPACES, namespace)
    assert await items(client, LAMPS, namespace) == []
    await client.delete(definitions, "lamps.lights.example.com")
    await gone(client, definitions, "lamps.lights.example.com")
