"""The registry on a real etcd, without HTTP: one etcd for all of these tests, a namespace for each."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson
import pytest

from apimachinery import patch
from apimachinery.clock import SystemClock
from apimachinery.objects import Object
from apiserver.registry.call import Call, User
from apiserver.registry.options import ListOptions, ListResult
from apiserver.registry.registry import Registry
from apiserver.registry.watching import WatchEvent
from apiserver.registry.writing import OPEN
from apiserver.scheme.scheme import Scheme
from apiserver.storage.store import Store
from apiserver.storage.types import Stored
from tests import etcd as etcds

USER = User("tester", uid="1", groups=("testers",))


class Api:
    """Calls by names instead of rows; objects in and out are dicts."""

    def __init__(self, registry: Registry, store: Store, namespace: str) -> None:
        self.registry = registry
        self.store = store
        self.namespace = namespace

    def call(self, verb: str, resource: str, name: str = "", **more: Any) -> Call:
        resource, _, sub = resource.partition("/")
        group = more.pop("group", _GROUPS.get(resource, ""))
        row = self.registry.scheme.find(group, more.pop("version", "v1"), resource)
        assert row is not None, resource
        namespace = self.namespace if row.namespaced else ""
        return Call(USER, row, verb, more.pop("namespace", namespace), name, sub, **more)

    async def create(self, resource: str, obj: Object, name: str = "", **more: Any) -> Object:
        call = self.call("create", resource, name, **more)
        sub = call.resource.subresource(call.subresource)
        decoded = self.registry.decode(call, orjson.dumps(obj), expected=sub.kind if sub else None)
        return _object(await self.registry.create(call, decoded))

    async def get(self, resource: str, name: str, **more: Any) -> Object:
        return _object(await self.registry.get(self.call("get", resource, name, **more)))

    async def update(self, resource: str, obj: Object, **more: Any) -> Object:
        call = self.call("update", resource, obj["metadata"]["name"], **more)
        sub = call.resource.subresource(call.subresource)
        decoded = self.registry.decode(call, orjson.dumps(obj), expected=sub.kind if sub else None)
        stored, _ = await self.registry.update(call, decoded)
        return _object(stored)

    async def patch(self, resource: str, name: str, body: Any, kind: str = patch.MERGE, **more: Any) -> Object:
        call = self.call("patch", resource, name, **more)
        return _object(await self.registry.patch(call, kind, orjson.dumps(body)))

    async def delete(self, resource: str, name: str, options: Object | None = None, **more: Any) -> bool:
        """Whether it is gone."""
        _, gone = await self.registry.delete(self.call("delete", resource, name, **more), options or {})
        return gone

    async def list(self, resource: str, **query: str) -> ListResult:
        return await self.registry.list(self.call("list", resource), ListOptions.from_query(query))

    async def names(self, resource: str, **query: str) -> list[str]:
        return [item.object["metadata"]["name"] for item in (await self.list(resource, **query)).items]


class Watched:
    """What a watch has delivered, as (type, name)."""

    def __init__(self) -> None:
        self.events: list[WatchEvent] = []

    def __call__(self, event: WatchEvent) -> None:
        self.events.append(event)

    @property
    def seen(self) -> list[tuple[str, str]]:
        return [(event.type, event.stored.object["metadata"].get("name", "")) for event in self.events]


_GROUPS = {
    "deployments": "apps",
    "replicasets": "apps",
    "statefulsets": "apps",
    "jobs": "batch",
    "leases": "coordination.k8s.io",
    "poddisruptionbudgets": "policy",
    "rolebindings": "rbac.authorization.k8s.io",
    "ipaddresses": "networking.k8s.io",
    "certificatesigningrequests": "certificates.k8s.io",
}


def _object(stored: Stored) -> Object:
    obj: Object = orjson.loads(stored.encoded)
    return obj


@pytest.fixture(scope="session")
def registry_etcd() -> Iterator[etcds.Cluster]:
    with etcds.Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def scheme() -> Scheme:
    return Scheme.builtin()


@contextlib.asynccontextmanager
async def started(scheme: Scheme, cluster: etcds.Cluster, namespace: str) -> AsyncIterator[Api]:
    """One server's registry on its own connection to etcd."""
    store = Store(cluster.endpoints)
    await store.start()
    registry = Registry(scheme, store, OPEN, SystemClock(), service_cidr="10.96.0.0/24", node_ports=(30000, 30015))
    try:
        yield Api(registry, store, namespace)
    finally:
        await store.stop()


@pytest.fixture
async def api(scheme: Scheme, registry_etcd: etcds.Cluster) -> AsyncIterator[Api]:
    async with started(scheme, registry_etcd, f"ns-{uuid.uuid4().hex[:8]}") as api:
        yield api


@pytest.fixture
async def elsewhere(api: Api, scheme: Scheme, registry_etcd: etcds.Cluster) -> AsyncIterator[Api]:
    """Another server on the same etcd."""
    async with started(scheme, registry_etcd, api.namespace) as other:
        yield other


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "nginx"}]} | spec}


def deployment(name: str, **spec: Any) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name)["spec"]}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template} | spec}
