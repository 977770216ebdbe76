"""From a Service to an address that can be dialled.

As upstream: by the cluster IP, or, with `--enable-aggregator-routing`, by one of the ready endpoints, for an apiserver
that no service proxy stands beside.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Protocol

from apimachinery.objects import Object
from apiserver.aggregation.remotes import ServicePort
from apiserver.storage.types import Stored

_SERVICES, _SLICES = "/registry/services/specs/", "/registry/endpointslices/"
_SERVICE_LABEL = "kubernetes.io/service-name"


class Unresolved(Exception):
    """There is no address; the message says why."""


class Cached(Protocol):
    """What is read of the store: what its cache has."""

    def cached(self, key: str) -> Stored | None: ...

    def cached_list(self, prefix: str) -> Sequence[Stored]: ...


class Services:
    def __init__(self, store: Cached, source: random.Random, *, by_endpoints: bool) -> None:
        self._store = store
        self._random = source
        self._by_endpoints = by_endpoints

    def find(self, wanted: ServicePort) -> Object | None:
        stored = self._store.cached(f"{_SERVICES}{wanted.namespace}/{wanted.name}")
        return stored.object if stored is not None else None

    def slices(self, wanted: ServicePort) -> list[Object]:
        found = (stored.object for stored in self._store.cached_list(f"{_SLICES}{wanted.namespace}/"))
        return [obj for obj in found if (obj["metadata"].get("labels") or {}).get(_SERVICE_LABEL) == wanted.name]

    def address(self, wanted: ServicePort) -> tuple[str, int]:
        """Host and port. Raises Unresolved."""
        service = self.find(wanted)
        if service is None:
            raise Unresolved(f'service "{wanted.name}" not found')
        spec = service.get("spec") or {}
        if spec.get("type") == "ExternalName":
            return spec.get("externalName") or "", wanted.port
        port = port_of(service, wanted.port)
        if port is None:
            raise Unresolved(f'no service port {wanted.port} found for service "{wanted.name}"')
        if not self._by_endpoints and spec.get("clusterIP") not in (None, "", "None"):
            return spec["clusterIP"], wanted.port
        choices = ready(self.slices(wanted), port.get("name") or "")
        if not choices:
            raise Unresolved(f'no endpoints available for service "{wanted.name}"')
        return self._random.choice(choices)


def port_of(service: Object, number: int) -> Object | None:
    """The service's port of this number."""
    ports = (service.get("spec") or {}).get("ports") or ()
    return next((port for port in ports if port["port"] == number), None)


def ready(slices: Iterable[Object], port_name: str) -> list[tuple[str, int]]:
    """Addresses and ports that take traffic."""
    return [
        (address, port["port"])
        for found in slices
        for port in found.get("ports") or ()
        if (port.get("name") or "") == port_name and port.get("port")
        for endpoint in found.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or ()
    ]
