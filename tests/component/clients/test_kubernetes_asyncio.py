"""kubernetes-asyncio: the generated client on aiohttp, with its watch and its dynamic client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from kubernetes_asyncio import client as asyncio_client
from kubernetes_asyncio import config, dynamic, watch

from tests import harness


@pytest.fixture
async def api(server: harness.Server) -> AsyncIterator[asyncio_client.ApiClient]:
    configuration = asyncio_client.Configuration()
    await config.load_kube_config(str(server.pki.kubeconfig("admin")), client_configuration=configuration)
    async with asyncio_client.ApiClient(configuration) as api:
        yield api


async def test_many_writes_at_once_are_all_watched(api: asyncio_client.ApiClient, namespace: str) -> None:
    core = asyncio_client.CoreV1Api(api)
    version = (await core.list_namespaced_config_map(namespace)).metadata.resource_version
    bodies = [{"metadata": {"name": f"m-{number}"}} for number in range(20)]
    await asyncio.gather(*(core.create_namespaced_config_map(namespace, body) for body in bodies))
    seen = set()
    async with watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=10
    ) as events:
        async for event in events:
            assert event["type"] == "ADDED"
            seen.add(event["object"].metadata.name)
            if len(seen) == 20:
                break
    assert seen == {f"m-{number}" for number in range(20)}


async def test_its_dynamic_client_patches_and_deletes(api: asyncio_client.ApiClient, namespace: str) -> None:
    client = await dynamic.DynamicClient(api)
    maps = await client.resources.get(api_version="v1", kind="ConfigMap")
    await maps.create(body={"metadata": {"name": "a"}, "data": {"k": "1"}}, namespace=namespace)
    patched = await maps.patch(
        name="a", namespace=namespace, body={"data": {"k": "2"}}, content_type="application/merge-patch+json"
    )
    assert patched.data.k == "2"
    await maps.delete(name="a", namespace=namespace)
    assert (await maps.get(namespace=namespace)).items == []
