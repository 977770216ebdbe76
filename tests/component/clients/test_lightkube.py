"""lightkube, synchronous and asynchronous: the subjects of its own end-to-end tests that need no node."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig
from lightkube.generic_resource import (
    create_namespaced_resource,
    get_generic_resource,
    load_in_cluster_generic_resources,
)
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import ConfigMap, Pod, Service
from lightkube.types import PatchType

from tests import harness


@pytest.fixture
def config(server: harness.Server) -> KubeConfig:
    return KubeConfig.from_file(server.pki.kubeconfig("admin"))


@pytest.fixture
def client(config: KubeConfig, namespace: str) -> Client:
    return Client(config, namespace=namespace, field_manager="lightkube", trust_env=False)


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name=name), data=data)


def test_errors_are_statuses(client: Client) -> None:
    with pytest.raises(ApiError) as missing:
        client.get(Pod, name="absent")
    status = missing.value.status
    assert (status.code, status.reason, status.details.name) == (404, "NotFound", "absent")
    client.create(config_map("a"))
    with pytest.raises(ApiError) as taken:
        client.create(config_map("a"))
    assert (taken.value.status.code, taken.value.status.reason) == (409, "AlreadyExists")


def test_each_kind_of_patch_changes_lists_in_its_own_way(client: Client) -> None:
    ports = [ServicePort(name="a", port=80, targetPort=8080)]
    client.create(Service(metadata=ObjectMeta(name="s"), spec=ServiceSpec(ports=ports, selector={"app": "none"})))

    def ports_after(body: Any, patch_type: PatchType) -> list[tuple[str, int, Any]]:
        service = client.patch(Service, name="s", obj=body, patch_type=patch_type)
        return [(port.name, port.port, port.targetPort) for port in service.spec.ports]

    b = {"name": "b", "port": 81, "targetPort": 8081}
    merged = ports_after({"spec": {"ports": [b]}}, PatchType.STRATEGIC)
    assert sorted(merged) == [("a", 80, 8080), ("b", 81, 8081)]
    changed = ports_after({"spec": {"ports": [b | {"targetPort": 8082}]}}, PatchType.STRATEGIC)
    assert ("b", 81, 8082) in changed and len(changed) == 2
    assert ports_after({"spec": {"ports": [b]}}, PatchType.MERGE) == [("b", 81, 8081)]
    appended = [{"op": "add", "path": "/spec/ports/-", "value": {"name": "a", "port": 80, "targetPort": 8080}}]
    assert ports_after(appended, PatchType.JSON) == [("b", 81, 8081), ("a", 80, 8080)]


def test_applying_owns_and_gives_up_fields(client: Client) -> None:
    applied = client.apply(config_map("m", one="1", two="2"))
    assert applied.data == {"one": "1", "two": "2"}
    assert client.apply(config_map("m", two="3", three="3")).data == {"two": "3", "three": "3"}
    assert not client.apply(config_map("m")).data
    client.apply(config_map("n", two="mine"), field_manager="first")
    with pytest.raises(ApiError) as conflict:
        client.apply(config_map("n", two="yours"), field_manager="second")
    assert conflict.value.status.reason == "Conflict"
    assert 'conflict with "first"' in conflict.value.status.message
    assert client.apply(config_map("n", two="yours"), field_manager="second", force=True).data == {"two": "yours"}


def test_a_dry_run_changes_nothing(client: Client) -> None:
    client.create(config_map("dry", k="1"), dry_run=True)
    with pytest.raises(ApiError):
        client.get(ConfigMap, "dry")
    made = client.create(config_map("dry", k="1"))
    client.patch(ConfigMap, "dry", obj={"data": {"k": "2"}}, dry_run=True)
    made.data["k"] = "3"
    client.replace(made, dry_run=True)
    client.deletecollection(ConfigMap, dry_run=True)
    client.delete(ConfigMap, "dry", dry_run=True)
    assert client.get(ConfigMap, "dry").data == {"k": "1"}


def test_collections_are_listed_over_namespaces_and_deleted_in_one(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        client.create(config_map(name))
    everywhere = {(item.metadata.namespace, item.metadata.name) for item in client.list(ConfigMap, namespace="*")}
    assert {(namespace, "a"), (namespace, "b")} <= everywhere
    client.deletecollection(ConfigMap)
    assert list(client.list(ConfigMap)) == []


async def test_the_asynchronous_client_pages_and_watches(config: KubeConfig, namespace: str) -> None:
    client = AsyncClient(config, namespace=namespace, trust_env=False)
    try:
        for number in range(7):
            await client.create(config_map(f"m-{number}", n=str(number)))
        found = client.list(ConfigMap, chunk_size=3)
        assert [item.data["n"] async for item in found] == [str(number) for number in range(7)]
        await client.delete(ConfigMap, "m-3")
        async for kind, item in client.watch(ConfigMap, resource_version=found.resourceVersion):
            assert (kind, item.metadata.name) == ("DELETED", "m-3")
            break
    finally:
        await client.close()


@pytest.fixture
def definition(client: Client) -> Iterator[CustomResourceDefinition]:
    """A kind that nobody else has, once it is Established."""
    kind = f"Cron{uuid.uuid4().hex[:6]}"
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    body = {
        "metadata": {"name": f"{kind.lower()}s.light.example.com"},
        "spec": {
            "group": "light.example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": f"{kind.lower()}s"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    made = client.create(CustomResourceDefinition.from_dict(body))
    client.wait(CustomResourceDefinition, made.metadata.name, for_conditions=["Established"])
    yield made
    client.delete(CustomResourceDefinition, made.metadata.name)


def test_custom_resources_are_generic_ones(client: Client, definition: CustomResourceDefinition) -> None:
    names = definition.spec.names
    assert get_generic_resource("light.example.com/v1", names.kind) is None
    load_in_cluster_generic_resources(client)
    assert get_generic_resource("light.example.com/v1", names.kind) is not None
    kind = create_namespaced_resource("light.example.com", "v1", names.kind, names.plural, verbs=None)
    client.create(kind(metadata={"name": "a"}, spec={"schedule": "* * * * *", "deep": {"er": 1}}))
    assert client.get(kind, name="a").spec == {"schedule": "* * * * *", "deep": {"er": 1}}
