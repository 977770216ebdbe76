"""From a Service to an address: by the cluster IP, by an endpoint, or by a name outside."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apiserver.aggregation import services
from apiserver.aggregation.remotes import ServicePort
from apiserver.storage import types
from apiserver.storage.types import Stored

WANTED = ServicePort("ns", "svc", 443)


class Cache:
    """What the store's cache has, as a mapping."""

    def __init__(self, objects: dict[str, dict[str, Any]]) -> None:
        self._stored = {key: Stored(key, types.encode(obj), 1) for key, obj in objects.items()}

    def cached(self, key: str) -> Stored | None:
        return self._stored.get(key)

    def cached_list(self, prefix: str) -> list[Stored]:
        return [stored for key, stored in self._stored.items() if key.startswith(prefix)]


def found(spec: dict[str, Any], *slices: dict[str, Any], by_endpoints: bool = False) -> services.Services:
    objects = {"/registry/services/specs/ns/svc": {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": spec}}
    for index, endpoint_slice in enumerate(slices):
        metadata = {"labels": {"kubernetes.io/service-name": "svc"}}
        head = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata}
        objects[f"/registry/endpointslices/ns/svc-{index}"] = head | endpoint_slice
    return services.Services(Cache(objects), random.Random(1), by_endpoints=by_endpoints)


def a_slice(address: str, *, ready: bool = True) -> dict[str, Any]:
    endpoint = {"addresses": [address], "conditions": {"ready": ready}}
    return {"ports": [{"name": "https", "port": 8443}], "endpoints": [endpoint]}


def spec(**more: Any) -> dict[str, Any]:
    return {"clusterIP": "10.96.0.9", "ports": [{"port": 443, "name": "https"}], **more}


def test_by_default_the_cluster_address_is_taken() -> None:
    assert found(spec(), a_slice("10.0.0.1")).address(WANTED) == ("10.96.0.9", 443)


def test_with_routing_one_of_the_ready_endpoints_is_taken() -> None:
    chosen = found(spec(), a_slice("10.0.0.1"), a_slice("10.0.0.2", ready=False), by_endpoints=True)
    assert {chosen.address(WANTED) for _ in range(20)} == {("10.0.0.1", 8443)}
    several = found(spec(), a_slice("10.0.0.1"), a_slice("10.0.0.2"), by_endpoints=True)
    assert {several.address(WANTED) for _ in range(50)} == {("10.0.0.1", 8443), ("10.0.0.2", 8443)}


def test_a_headless_service_has_only_endpoints_and_an_external_one_its_name() -> None:
    assert found(spec(clusterIP="None"), a_slice("10.0.0.1")).address(WANTED) == ("10.0.0.1", 8443)
    outside = found({"type": "ExternalName", "externalName": "api.example.com"})
    assert outside.address(WANTED) == ("api.example.com", 443)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (found(spec(), by_endpoints=True), 'no endpoints available for service "svc"'),
        (found(spec(ports=[{"port": 80}])), 'no service port 443 found for service "svc"'),
        (services.Services(Cache({}), random.Random(1), by_endpoints=False), 'service "svc" not found'),
    ],
)
def test_why_there_is_no_address_is_said(made: services.Services, problem: str) -> None:
    with pytest.raises(services.Unresolved, match=problem):
        made.address(WANTED)
